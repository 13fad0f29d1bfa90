"""A release of PyTorch from its recorded registrations: keys, aliases and dispatch tables by its own rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import takewhile

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.past_registrations import known_releases, registrations_of
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK, KERNEL
from dispatchviz.core.table.pytorch_registrations import PyTorch, named_fallbacks, named_kernels
from dispatchviz.core.table.registrations_text import RegistrationsText
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.computed_table import MISSING, PYTORCH, RAISES, SKIPPED, Row
from dispatchviz.explain.keys.key_layouts import Layout, layouts
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.registration import registry_with

PLACEHOLDER = "Undefined"
"""The end of the names of numbers that are not keys, before each block of runtime keys."""


class Release:
    """A release. Keys are names, because the model does not have all of them."""

    def __init__(self, minor: str, text: RegistrationsText) -> None:
        self.minor = minor
        self.text = text
        self._registries: dict[str, Registry] = {}

    @property
    def number(self) -> str:
        """The release that was recorded: ``2.9.0``."""
        return self.text.torch

    # -- keys ---------------------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """The bits of its key sets."""
        numbers = self.text.numbers
        end = numbers.index("UnknownUnknown")
        backends = takewhile(lambda name: not name.endswith(PLACEHOLDER), numbers[end + 2 :])
        aliases = (*self.text.members,)
        return Layout((self.number,), tuple(backends), numbers[1:end], layouts()[-1].per_backend, aliases)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each table entry, in their order."""
        bits = len(self.layout.backends) + len(self.layout.keys)
        return ("Undefined", *self.layout.members((1 << bits) - 1))

    @cached_property
    def functionalities(self) -> dict[str, tuple[str, ...]]:
        """The runtime keys of each functionality, low to high priority."""
        prefixes, backends = self.layout.per_backend, self.layout.backends
        found = {
            key: tuple(prefixes[key] + backend for backend in backends) if key in prefixes else (key,)
            for key in self.layout.keys
        }
        return {"Undefined": ("Undefined",), **found}

    def covering(self, key: str) -> list[str]:
        """Return the aliases that include a key."""
        return [alias for alias, members in self.text.members.items() if key in members]

    # -- tables -------------------------------------------------------------------------------------------------------

    def registry(self, build: str) -> Registry:
        """Return the operators of a build, with tables by the rules of the release, for keys that the model has."""
        if build not in self._registries:
            known = DispatchKey.__members__
            members = {
                DispatchKey[alias]: frozenset(known[key] for key in keys if key in known)
                for alias, keys in self.text.members.items()
            }
            fallbacks = {known[key]: kernel for key, kernel in self.fallbacks().items() if key in known}
            self._registries[build] = registry_with(PyTorch(build, self.text), fallbacks, members)
        return self._registries[build]

    def fallbacks(self) -> dict[str, Kernel]:
        """Return the fallback of each key that has one."""
        return {row.key: kernel for row, kernel in named_fallbacks(self.text)}

    def rows(self, op: OperatorEntry, build: str, keys: Iterable[str] = ()) -> tuple[Row, ...]:
        """Return all table entries of an operator, or those of some keys."""
        return tuple(self._row(op, build, key) for key in keys or self.keys)

    def _row(self, op: OperatorEntry, build: str, key: str) -> Row:
        place = self.keys.index(key)
        if key in DispatchKey.__members__:
            return _row_of(place, op.compute(DispatchKey[key]))
        return self._row_of_unknown(op.name, build, place)

    def _row_of_unknown(self, operator: str, build: str, place: int) -> Row:
        """Return the entry of a key that the model does not have. No alias includes it."""
        key = self.keys[place]
        own = (kernel for row, kernel in named_kernels(self.text, operator, build == "cuda") if row.key == key)
        candidates = ((next(own, None), KERNEL), (self.fallbacks().get(key), FALLBACK))
        kernel, reason = next((found for found in candidates if found[0] is not None), (None, MISSING))
        if kernel is None:
            return Row(place, key, "", MISSING, "", "", MISSING)
        return Row(place, key, kernel.name, reason, key, kernel.debug, SKIPPED if kernel.fallthrough else PYTORCH)

    def mask(self, rows: Iterable[Row]) -> int:
        """Return the mask of calls, from all entries, in the release's own numbers. The last entry of a functionality
        decides its bit.
        """
        states = {row.key: row.state for row in rows}
        first = len(self.layout.backends)
        mask = (1 << first + len(self.layout.keys)) - 1
        for bit, name in enumerate(self.layout.keys, first):
            if states[self.functionalities[name][-1]] == SKIPPED:
                mask &= ~(1 << bit)
        return mask


def _row_of(place: int, cell: Cell) -> Row:
    key = str(cell.key)
    if cell.kernel is None:
        return Row(place, key, "", cell.reason, "", "", MISSING)
    state = SKIPPED if cell.falls_through else RAISES if cell.reason == AMBIGUOUS else PYTORCH
    return Row(place, key, cell.kernel.name, cell.reason, str(cell.source), cell.kernel.debug, state)


# -- releases by name -------------------------------------------------------------------------------------------------


@cache
def _release(minor: str) -> Release:
    return Release(minor, registrations_of(minor))


def all_releases() -> Iterator[Release]:
    """Yield the known releases, oldest first."""
    return map(_release, known_releases())


def release_named(text: str) -> Release:
    """Return the release with a name: ``2.9``, or ``2.9.0`` if that is the one that was recorded. Raise
    DispatchvizError, with the known ones, for any other.
    """
    wanted = text.strip().removeprefix("v")
    found = next((release for release in all_releases() if wanted in (release.minor, release.number)), None)
    if found is None:
        known = ", ".join(f"{release.minor} ({release.number})" for release in all_releases())
        raise DispatchvizError(f"the registrations of PyTorch {text} are not known; known releases are {known}")
    return found
