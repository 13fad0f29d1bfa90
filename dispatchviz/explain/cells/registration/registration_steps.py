"""Registrations made one after the other on an empty registry: what each does to the operator's table and masks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

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


@dataclass(frozen=True, slots=True)
class Held:
    """What a cell holds."""

    kernel: str
    """Empty if the cell is."""
    reason: str
    """PyTorch's tag."""


EMPTY = Held("", MISSING)


@dataclass(frozen=True, slots=True)
class ChangedCells:
    """Cells in which the same kernel took the place of the same other one."""

    cells: tuple[int, ...]
    keys: tuple[str, ...]
    before: Held
    after: Held
    why: str
    """Why one of them holds what it holds now: the first, but Undefined only if it is alone."""


@dataclass(frozen=True, slots=True)
class FallthroughCall:
    """``setOperatorHasFallthroughForKey``, called with another value than before."""

    key: str
    has_fallthrough: bool


@dataclass(frozen=True, slots=True)
class Masks:
    """The operator's masks (``DispatchKeyExtractor.h``)."""

    single: int
    """``nonFallthroughKeys_``"""
    backends: dict[str, int]
    """``nonFallthroughKeysPerBackend_``, where they count."""
    per_backend: bool
    """``requiresBitsetPerBackend_``: the mask of the call's backend counts."""


@dataclass(frozen=True, slots=True)
class RegistrationStep:
    """One registration, and what it changed."""

    number: int
    """From 1 on."""
    kind: str
    """``definition``, ``kernel``, ``alias kernel``, ``fallback``; with ``removed`` before it, if it is undone."""
    block: str
    place: str
    step: int
    """The step of the trace at which a program made it; -1 of PyTorch's own."""
    key: str
    kernel: str
    makes_operator: bool
    """The operator is named for the first time: its entry is made, and filled from the fallbacks."""
    exists: bool
    """The operator has an entry, afterwards."""
    recomputed: tuple[str, ...]
    """Keys of the cells that PyTorch computes again."""
    changes: tuple[ChangedCells, ...]
    calls: tuple[FallthroughCall, ...]
    masks_before: Masks
    masks: Masks
    stale: tuple[str, ...]
    """Keys of cells that would hold something else if they were computed now."""
    sentences: tuple[str, ...]


class _State(NamedTuple):
    """An operator at a moment."""

    cells: tuple[tuple[Kernel | None, str], ...]
    masks: Masks
    stale: tuple[str, ...]


_NOTHING = _State(((None, MISSING),) * len(RUNTIME_KEYS), Masks(FULL, {}, False), ())


class Replay:
    """A registry in which one operator comes into being."""

    def __init__(self, name: str, keys: Collection[DispatchKey] = RUNTIME_KEYS) -> None:
        """``keys``: of which cells changes are told."""
        self.registry = Registry()
        self.name = name
        self.op: OperatorEntry | None = None
        self._keys = frozenset(keys)
        self._number = 0

    def make(self, made: Registration) -> RegistrationStep:
        """Makes, or undoes, one registration."""
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
    """The steps of an operator, beginning with nothing. ``keys``: of which cells changes are told."""
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
    """The newest kernel of a name under a key."""
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
    """Cells that hold another kernel, or the same for another reason, put together; in cell order."""
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
