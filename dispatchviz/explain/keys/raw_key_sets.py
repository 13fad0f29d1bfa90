"""The parts of a raw key set, as PyTorch 2.14 reads it and as older releases did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.keys.key_set import highest, highest_functionality, members, table_index
from dispatchviz.core.keys.keys import BACKEND_MASK, CUSTOMIZABLE, RUNTIME_KEYS
from dispatchviz.explain.keys.key_layouts import Layout, layout_of, layouts, minor, readings
from dispatchviz.explain.keys.key_text import TOP, backend_name, backends, functionalities
from dispatchviz.explain.keys.named_key_sets import known_set
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.errors import DispatchvizError

WORD = (1 << 64) - 1


class Bit(NamedTuple):
    """A bit of a set."""

    bit: int
    name: str
    kind: str
    """``backend`` or ``functionality``; ``key`` if every key had its own bit."""


class Reading(NamedTuple):
    """The meaning of a number in the layout of some releases."""

    releases: str
    """``2.0`` or ``2.8 to 2.12``."""
    read_in: tuple[str, ...]
    """The releases whose header was read."""
    members: tuple[str, ...]
    """The keys, highest priority first."""
    bits: tuple[Bit, ...]
    objection: str
    """The reason why it is unlikely to be a set of that release; empty if it can be one."""


class RawSetCard(NamedTuple):
    """The card of a raw set."""

    raw: int
    hex: str
    members: tuple[str, ...]
    """The runtime keys, highest priority first."""
    bits: tuple[Bit, ...]
    highest: str
    """The key that selects the table entry."""
    cell: int | None
    """The table index; None for a set with bits beyond all keys."""
    cell_key: str
    known: str
    """The description of the set, if it has one."""
    notes: tuple[str, ...]
    """The odd properties of the set."""
    sensible: bool
    """True if it can be a set of PyTorch 2.14."""
    elsewhere: tuple[Reading, ...]
    """The past layouts in which it makes sense, newest first; or the requested layout."""


def raw_set_card(raw: int, release: str | None = None) -> RawSetCard:
    """The card of a number. ``release`` selects one layout. Raise DispatchvizError beyond 64 bits or for an unknown
    release.
    """
    if not 0 <= raw <= WORD:
        raise DispatchvizError(f"a raw key set is a number from 0 to 2**64 - 1, not {raw}")
    beyond = [bit for bit in range(TOP + 1, 64) if raw >> bit & 1]
    cell = None if beyond else table_index(raw)
    return RawSetCard(
        raw=raw,
        hex=f"{raw:#x}",
        members=tuple(str(key) for key in members(raw & WORD >> 1))[::-1],
        bits=tuple(_bits(raw)),
        highest="" if beyond else str(highest(raw)),
        cell=cell,
        cell_key="" if cell is None else str(RUNTIME_KEYS[cell]),
        known=known_set(raw),
        notes=tuple(_notes(raw, beyond)),
        sensible=not layouts()[-1].objection(raw),
        elsewhere=tuple(_merged(reading(layout, raw) for layout in _chosen(raw, release))),
    )


def _chosen(raw: int, release: str | None) -> list[Layout]:
    if release is None:
        ours = layouts()[-1]
        plain = not ours.objection(raw) and (ours.usual(raw) or known_set(raw))
        return [] if plain else readings(raw)
    layout = layout_of(release)
    if layout is None:
        known = ", ".join(layout.span for layout in layouts())
        raise DispatchvizError(f"the layout of release {release!r} is not known; known are {known}")
    return [layout]


def reading(layout: Layout, raw: int) -> Reading:
    """The meaning of a number in a layout."""
    lower = len(layout.backends)
    bits = [Bit(bit, name, "backend") for bit, name in enumerate(layout.backends) if raw >> bit & 1]
    kind = "functionality" if lower else "key"
    bits += [Bit(bit, name, kind) for bit, name in enumerate(layout.keys, lower) if raw >> bit & 1]
    return Reading(layout.span, layout.releases, tuple(layout.members(raw))[::-1], tuple(bits), layout.objection(raw))


def _merged(found: Iterable[Reading]) -> Iterator[Reading]:
    """Merge releases that read a number alike, newest first."""
    groups: dict[tuple[Bit, ...], list[Reading]] = {}
    for each in found:
        groups.setdefault(each.bits, []).append(each)
    for alike in groups.values():
        read_in = tuple(release for each in reversed(alike) for release in each.read_in)
        first, last = minor(read_in[0]), minor(read_in[-1])
        span = first if first == last else f"{first} to {last}"
        yield Reading(span, read_in, alike[0].members, alike[0].bits, alike[0].objection)


def _bits(raw: int) -> list[Bit]:
    found = [Bit(backend - 1, backend_name(backend), "backend") for backend in backends(raw)[::-1]]
    return found + [Bit(key + 15, key.name, "functionality") for key in list(functionalities(raw))[::-1]]


def _notes(raw: int, beyond: list[int]) -> list[str]:
    notes = []
    if raw == 0:
        notes.append("This is the empty set. Undefined tensors have it, and calls without any key.")
    keys, there = list(functionalities(raw)), backends(raw)
    per_backend = [key.name for key in keys if key in CUSTOMIZABLE]
    if beyond:
        notes.append(_beyond(beyond))
    if there and not per_backend:
        names = listed([backend_name(backend) for backend in there])
        notes.append(
            f"The backend {'bits' if len(there) > 1 else 'bit'} {names} {'have' if len(there) > 1 else 'has'} no "
            f"functionality beside it, so printing the set does not show {'them' if len(there) > 1 else 'it'}. "
            "Removing keys leaves backend bits behind. Only remove_backend clears one."
        )
    if per_backend and not there:
        notes.append(
            f"{listed(per_backend)} {'have' if len(per_backend) > 1 else 'has'} one key for each "
            "backend, and no backend bit is set, so printing the set leaves them out. Masks and the "
            "sets of guards look like this: they mean every backend." + _cpu_cell(raw)
        )
    if len(there) > 1 and len(per_backend) > 1:
        notes.append(
            f"Backends are bits of the whole set, not of a key. {listed(per_backend)} each count for "
            f"{listed([backend_name(backend) for backend in there[::-1]])}, and the highest backend decides "
            f"({backend_name(there[0])})."
        )
    return notes


def _cpu_cell(raw: int) -> str:
    if highest_functionality(raw) not in CUSTOMIZABLE or raw & BACKEND_MASK:
        return ""
    cell = RUNTIME_KEYS[table_index(raw)]
    return (
        f" As the set of a call it would select the entry of {cell}, although its highest key prints as {highest(raw)}."
    )


def _beyond(beyond: list[int]) -> str:
    fates = {62: "printing ignores bit 62", 63: "iterating over a set with bit 63 fails an internal check"}
    return f"No key has {listed([f'bit {bit}' for bit in beyond])}: {listed([fates[bit] for bit in beyond])}."
