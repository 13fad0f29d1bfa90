"""The differences between the keys of the installed release and those of PyTorch 2.14, a sentence for each."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.record.trace_file import KeyLayout
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.key_numbers import OURS, key_layout


def key_differences(build: InstalledPyTorch) -> tuple[str, ...]:
    """Return the differences in the keys, their order and the members of aliases. The result is empty if all is as in
    PyTorch 2.14.
    """
    layout = key_layout(build.torch._C)
    return (*(_of_layout(layout) if layout != OURS else ()), *_of_aliases(build, layout))


def _of_layout(layout: KeyLayout) -> Iterator[str]:
    yield (
        f"Key sets and cells are shown with this release's own numbers; in files, events have those of PyTorch {MINOR}."
    )
    if more := [key for key in layout.keys if key not in OURS.keys]:
        yield f"Keys that PyTorch {MINOR} does not have: {listed(more)}. Key sets are shown without them."
    if missing := [key for key in OURS.keys if key not in layout.keys]:
        yield f"Keys of PyTorch {MINOR} that this release does not have: {listed(missing)}."
    if missing := [backend for backend in OURS.backends if backend not in layout.backends]:
        yield f"Backends of PyTorch {MINOR} that this release does not have: {listed(missing)}."
    theirs, ours = ([key for key in one.keys if key in other.keys] for one, other in ((layout, OURS), (OURS, layout)))
    if moved := [key for key, other in zip(theirs, ours, strict=True) if key != other]:
        wanted = [key for key in ours if key in moved]
        yield f"Highest priority first, the order is {_in_order(moved)}; in PyTorch {MINOR} it is {_in_order(wanted)}."


def _of_aliases(build: InstalledPyTorch, layout: KeyLayout) -> Iterator[str]:
    """Yield the differences of aliases that do not follow from missing keys."""
    missing = [backend for backend in OURS.backends if backend not in layout.backends]
    for alias, members in build.alias_members.items():
        if more := members - ALIAS_MEMBERS[alias]:
            yield f"{alias} also includes {listed(_names(more))}."
        if less := [key for key in _names(ALIAS_MEMBERS[alias] - members) if not key.endswith(tuple(missing))]:
            yield f"{alias} does not include {listed(less)}."


def _in_order(keys: list[str]) -> str:
    return ", ".join(reversed(keys))


def _names(keys: frozenset[DispatchKey]) -> list[str]:
    return [key.name for key in sorted(keys)]
