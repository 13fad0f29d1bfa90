"""Registrations made one by one on an empty registry, with the effect of each on the operator's table and masks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.key_set import FULL
from dispatchviz.core.keys.keys import RUNTIME_KEYS, BackendComponent, DispatchKey
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.dump import stale_keys
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import MISSING, affected_by
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.cell_claims import because
from dispatchviz.explain.cells.registration import registration_sentences
from dispatchviz.explain.cells.registration.registrations import DEFINITION, FALLBACK, Registration

ALIAS = "alias kernel"


class Held(Struct, frozen=True):
    """The content of an entry."""

    kernel: str
    """The kernel's name; empty if the entry is empty."""
    reason: str
    """PyTorch's tag."""


EMPTY = Held("", MISSING)


class ChangedCells(Struct, frozen=True):
    """Entries in which the same kernel replaced the same other one."""

    cells: tuple[int, ...]
    keys: tuple[str, ...]
    before: Held
    after: Held
    why: str
    """The reason for the content of the first of them; that of Undefined only if it is alone."""


class FallthroughCall(Struct, frozen=True):
    """A call of ``setOperatorHasFallthroughForKey`` that changes the value."""

    key: str
    has_fallthrough: bool


class Masks(Struct, frozen=True):
    """The operator's masks (``DispatchKeyExtractor.h``)."""

    single: int
    """``nonFallthroughKeys_``"""
    backends: dict[str, int]
    """``nonFallthroughKeysPerBackend_``, if they are used."""
    per_backend: bool
    """``requiresBitsetPerBackend_``: True if the mask of the call's backend is used."""


class RegistrationStep(Struct, frozen=True):
    """One registration and its effect."""

    number: int
    """The number of the step, from 1."""
    kind: str
    """``definition``, ``kernel``, ``alias kernel``, ``fallback``; with ``removed`` in front if it is undone."""
    block: str
    place: str
    step: int
    """The step of the trace at which a program made it; -1 for PyTorch's own."""
    key: str
    kernel: str
    makes_operator: bool
    """True if the operator is named for the first time: its OperatorEntry is created and filled from the fallbacks."""
    exists: bool
    """True if the operator has an OperatorEntry afterwards."""
    recomputed: tuple[str, ...]
    """The keys of the entries that PyTorch recomputes."""
    changes: tuple[ChangedCells, ...]
    calls: tuple[FallthroughCall, ...]
    masks_before: Masks
    masks: Masks
    stale: tuple[str, ...]
    """The keys of the entries that are out of date: a recomputation would change them."""
    sentences: tuple[str, ...]


class _State(NamedTuple):
    """The state of an operator at a moment."""

    cells: tuple[tuple[Kernel | None, str], ...]
    masks: Masks
    stale: tuple[str, ...]


_NOTHING = _State(((None, MISSING),) * len(RUNTIME_KEYS), Masks(FULL, {}, False), ())


class Replay:
    """A registry in which the registrations of one operator are replayed."""

    def __init__(self, name: str, keys: Collection[DispatchKey] = RUNTIME_KEYS) -> None:
        """Create an empty registry. Changes are reported for the entries of ``keys``."""
        self.registry = Registry()
        self.name = name
        self.op: OperatorEntry | None = None
        self._keys = frozenset(keys)
        self._number = 0

    def make(self, made: Registration) -> RegistrationStep:
        """Make or undo one registration."""
        before, new = self._state(), self.op is None and made.what != FALLBACK
        if new:
            self.op = self.registry.operators.new(self.name)
            self.op.table  # noqa: B018  from here on a change recomputes what PyTorch recomputes
        self._apply(made)
        self._number += 1
        return self._step(made, new, before, self._state())

    def _apply(self, made: Registration) -> None:
        if made.what == FALLBACK:
            assert made.key is not None
            self.registry.set_fallback(made.key, None if made.removed else made.kernel)
        elif self.op is not None:
            _register(self.op, made)

    def _state(self) -> _State:
        if self.op is None:
            return _NOTHING
        cells = tuple((cell.kernel, cell.reason) for cell in self.op.table)
        return _State(cells, _masks(self.op), tuple(map(str, stale_keys(self.op))))

    def _step(self, made: Registration, new: bool, before: _State, after: _State) -> RegistrationStep:
        recomputed = RUNTIME_KEYS if new else _recomputed(made)
        return RegistrationStep(
            number=self._number,
            kind=_kind(made),
            block=made.block,
            place=made.place,
            step=made.step,
            key="" if made.key is None else str(made.key),
            kernel=made.kernel.name if made.kernel else "",
            makes_operator=new,
            exists=self.op is not None,
            recomputed=tuple(map(str, recomputed)) if self.op else (),
            changes=tuple(_changes(self.op, self._keys, before, after)) if self.op else (),
            calls=tuple(_calls(before, after)),
            masks_before=before.masks,
            masks=after.masks,
            stale=after.stale,
            sentences=tuple(self._sentences(made, new, before, after)),
        )

    def _sentences(self, made: Registration, new: bool, before: _State, after: _State) -> Iterator[str]:
        yield from registration_sentences.sentences(self.name, self.op, made, new)
        if self.op is not None:
            yield from registration_sentences.out_of_date(self.op, made, before.stale, after.stale)


def play(
    name: str, registrations: Iterable[Registration], keys: Collection[DispatchKey] = RUNTIME_KEYS
) -> list[RegistrationStep]:
    """The steps of an operator, from an empty registry. Changes are reported for the entries of ``keys``."""
    replay = Replay(name, keys)
    return [replay.make(registration) for registration in registrations]


def _register(op: OperatorEntry, made: Registration) -> None:
    if made.what == DEFINITION:
        op.define(parse_schema(made.schema), made.place)
        return
    assert made.key is not None
    assert made.kernel is not None
    if not made.removed:
        op.register(made.key, made.kernel)
    elif (there := _of_name(op, made.key, made.kernel.name)) is not None:
        op.deregister(made.key, there)


def _of_name(op: OperatorEntry, key: DispatchKey, name: str) -> Kernel | None:
    """The newest kernel with a name for a key."""
    return next((kernel for kernel in op.registrations.get(key, ()) if kernel.name == name), None)


def _kind(made: Registration) -> str:
    alias = made.key is not None and made.key.is_alias and made.what != FALLBACK
    return "removed " * made.removed + (ALIAS if alias else made.what)


def _recomputed(made: Registration) -> tuple[DispatchKey, ...]:
    return () if made.key is None else affected_by(made.key)


def _masks(op: OperatorEntry) -> Masks:
    masks = op.masks
    names = (BackendComponent(place + 1).name.removesuffix("Bit") for place in range(len(masks.backends)))
    own = dict(zip(names, masks.backends, strict=True)) if masks.differ else {}
    return Masks(masks.single, own, masks.differ)


def _changes(op: OperatorEntry, keys: frozenset[DispatchKey], before: _State, after: _State) -> Iterator[ChangedCells]:
    """Yield the entries whose kernel or reason changed, grouped, in table order."""
    groups: dict[tuple[Held, Held], list[Cell]] = {}
    for old, new, cell in zip(before.cells, after.cells, op.table, strict=True):
        if old != new and cell.key in keys:
            groups.setdefault((_held(*old), _held(*new)), []).append(cell)
    for (was, now), cells in groups.items():
        places, names = tuple(cell.index for cell in cells), tuple(str(cell.key) for cell in cells)
        one = next((cell for cell in cells if cell.key != DispatchKey.Undefined), cells[0])
        yield ChangedCells(places, names, was, now, because(op, one).text)


def _held(kernel: Kernel | None, reason: str) -> Held:
    return Held(kernel.name if kernel else "", reason)


def _calls(before: _State, after: _State) -> Iterator[FallthroughCall]:
    for key, (old, _), (new, _) in zip(RUNTIME_KEYS, before.cells, after.cells, strict=True):
        if _falls(old) != _falls(new):
            yield FallthroughCall(str(key), _falls(new))


def _falls(kernel: Kernel | None) -> bool:
    return kernel is not None and kernel.fallthrough
