"""The answers of ``keys`` about an older release: all keys in order, one key, a raw key set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.explain.cells.releases.release import Release, release_named
from dispatchviz.explain.cells.releases.release_keys import ReleaseKeys, key_named, runtime
from dispatchviz.explain.keys.key_cards import KeyCard, counted_text, fallback_text
from dispatchviz.explain.keys.key_inputs import names_in, number_in
from dispatchviz.explain.keys.key_layouts import Layout, layout_of, layouts
from dispatchviz.explain.keys.key_order import ALIAS_TEXTS, KeyOrder, KeyRow
from dispatchviz.explain.keys.key_text import purpose
from dispatchviz.explain.keys.past_keys import STORIES
from dispatchviz.explain.keys.raw_key_sets import WORD, Bit, RawSetCard, reading
from dispatchviz.foundation.english import counted, listed
from dispatchviz.foundation.errors import DispatchvizError

# -- the input of a reader --------------------------------------------------------------------------------------------


def release_input(text: str, named: str, build: str) -> KeyCard | RawSetCard:
    """Return the card of the key or set that a text names in a release. Key sets can be read for older releases than
    keys. Raise DispatchvizError if the text names nothing there, or if the release is unknown.
    """
    number = number_in(text)
    if number is not None:
        return _set(number, _layout(named))
    release, names = release_named(named), names_in(text)
    keys = [key_named(release, name) for name in names]
    if len(keys) == 1 and not text.startswith("DispatchKeySet"):
        return release_key(release, keys[0], build)
    for key in keys:
        if key in release.text.members:
            raise DispatchvizError(f"{key} is an alias and has no bit, so no key set has it")
    return _set(_raw(release, keys), release.layout)


def _layout(release: str) -> Layout:
    layout = layout_of(release)
    if layout is None:
        known = ", ".join(layout.span for layout in layouts())
        raise DispatchvizError(f"the layout of release {release!r} is not known; known are {known}")
    return layout


def _set(number: int, layout: Layout) -> RawSetCard:
    """The card of a number, as a layout reads it."""
    if not 0 <= number <= WORD:
        raise DispatchvizError(f"a raw key set is a number from 0 to 2**64 - 1, not {number}")
    found = reading(layout, number)
    top = found.members[0] if found.members else ""
    return RawSetCard(
        raw=number,
        hex=f"{number:#x}",
        members=found.members,
        bits=found.bits,
        highest=top,
        cell=_entry(layout, top) if top and layout.backends else None,
        cell_key=top,
        known="",
        notes=(),
        sensible=not found.objection,
        elsewhere=(),
    )


def _entry(layout: Layout, key: str) -> int:
    """The place of a key in the dispatch table, as ``DispatchKeySet.cpp`` computes it since 1.12."""
    bits = len(layout.backends) + len(layout.keys)
    return 1 + layout.members((1 << bits) - 1).index(key)


def _raw(release: Release, keys: Sequence[str]) -> int:
    """The raw set with some keys and functionalities."""
    found = 0
    for key in keys:
        for bit in _bits(release, key):
            found |= 1 << bit.bit
    return found


def _bits(release: Release, key: str) -> Iterator[Bit]:
    """Yield the bits of a key or a functionality."""
    layout, functionality = release.layout, ReleaseKeys(release).functionality(key) or key
    if functionality == "Undefined":
        return
    first = len(layout.backends)
    yield Bit(first + layout.keys.index(functionality), functionality, "functionality")
    if key in release.keys and functionality in layout.per_backend:
        backend = release.functionalities[functionality].index(key)
        yield Bit(backend, layout.backends[backend], "backend")


# -- one key ----------------------------------------------------------------------------------------------------------


def release_key(release: Release, name: str, build: str) -> KeyCard:
    """The card of a key, a functionality or an alias of a release."""
    members, is_alias = runtime(release, name), name in release.text.members
    fallback = release.fallbacks().get(name)
    registered = tuple(sorted(release.text.operators_with(name, build == "cuda")))
    return KeyCard(
        name=name,
        kind="alias" if is_alias else "runtime key" if name in release.keys else "functionality",
        value=release.text.numbers.index(name),
        raw=_raw(release, members if is_alias else [name]),
        cells=tuple(sorted(release.keys.index(key) for key in members)),
        aliases=tuple(release.covering(name)),
        members=() if name in release.keys else tuple(members),
        fallback=f"{fallback.name}, {fallback.debug}" if fallback else "",
        registered=registered,
        served=None,
        sentences=tuple(_sentences(release, name, registered)),
    )


def _sentences(release: Release, name: str, registered: tuple[str, ...]) -> Iterator[str]:
    if name in release.text.members:
        members = release.text.members[name]
        keys = counted(len(members), "key")
        yield f"It is an alias: a name to register a kernel for {keys} at once. It has no bit and no table entry."
        yield f"Its keys: {ReleaseKeys(release).text(members)}."
    elif meaning := _meaning(ReleaseKeys(release).functionality(name) or name):
        yield f"This key {meaning}."
    if name in release.keys and name != "Undefined":
        yield fallback_text(release.fallbacks().get(name))
    yield counted_text(name, registered)


def _meaning(functionality: str) -> str:
    """The purpose of the kernels at a functionality, as the end of a sentence."""
    if functionality in DispatchKey.__members__:
        return purpose(DispatchKey[functionality].functionality)
    return STORIES.get(functionality, "").partition(".")[0]


# -- all keys ---------------------------------------------------------------------------------------------------------


def release_order(release: Release) -> KeyOrder:
    """All keys of a release in their order."""
    layout = release.layout
    rows = [_row(release, bit, key) for bit, key in enumerate(layout.keys, len(layout.backends))]
    aliases = [(alias, len(members), _covers(release, alias)) for alias, members in release.text.members.items()]
    return KeyOrder(rows[::-1], [*enumerate(layout.backends)], aliases)


def _row(release: Release, bit: int, key: str) -> KeyRow:
    cells = [release.keys.index(member) for member in release.functionalities[key]]
    place = f"{cells[0]}-{cells[-1]}" if len(cells) > 1 else str(cells[0])
    return KeyRow(key, release.text.numbers.index(key), bit, place, _meaning(key))


def _covers(release: Release, alias: str) -> str:
    """The keys that an alias covers, as a text. It names those that the alias no longer has."""
    today = {key.name for key in ALIAS_MEMBERS[DispatchKey[alias]]}
    more = [key for key in release.text.members[alias] if key not in today]
    return ALIAS_TEXTS[DispatchKey[alias]] + (f"; also {listed(more)}" if more else "")
