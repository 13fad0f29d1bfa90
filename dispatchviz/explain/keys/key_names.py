"""Dispatch keys by the names that people type, including the names in older releases."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, CELL, RUNTIME_KEYS, DispatchKey
from dispatchviz.foundation.errors import DispatchvizError

PLACEHOLDERS = ("StartOf", "EndOf")
"""The prefixes of enumerators that are not keys."""

NAMES: dict[str, DispatchKey] = {key.name.lower(): key for key in DispatchKey if not key.name.startswith(PLACEHOLDERS)}
"""Every key, functionality and alias by its name in lower case."""


def find_key(text: str) -> DispatchKey:
    """Find the key with a name, in any capitalization. Raise DispatchvizError, with suggestions, if it is unknown."""
    key = known_key(text)
    if key is None:
        raise DispatchvizError(f"there is no dispatch key {text!r}{_hint(text)}")
    return key


def known_key(text: str) -> DispatchKey | None:
    """Find the key with a name; None if it is unknown."""
    return NAMES.get(text.strip().removeprefix("DispatchKey.").removeprefix("torch._C.DispatchKey.").lower())


def recorded_key(name: str) -> DispatchKey:
    """The key that an event names; Undefined if this release has no such key."""
    key = DispatchKey.__members__.get(name, DispatchKey.Undefined)
    return DispatchKey.Undefined if name.startswith(PLACEHOLDERS) else key


def _hint(text: str) -> str:
    from dispatchviz.explain.keys.past_keys import became

    past = became(text)
    if past:
        return f": {past}"
    close = close_keys(text)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def close_keys(text: str) -> list[str]:
    """The names of keys that are similar to a text."""
    import difflib

    found = difflib.get_close_matches(text.lower(), NAMES, 3, 0.6)
    return [NAMES[name].name for name in found]


def runtime_keys(texts: Iterable[str]) -> list[DispatchKey]:
    """The runtime keys of names. An alias means all its keys, a functionality its 16 keys.

    Raise DispatchvizError if a name is unknown.
    """
    return [key for text in texts for key in _runtime(find_key(text))]


def _runtime(key: DispatchKey) -> list[DispatchKey]:
    if key.is_alias:
        return [runtime for runtime in RUNTIME_KEYS if runtime in ALIAS_MEMBERS[key]]
    return [key] if key in CELL else [runtime for runtime in RUNTIME_KEYS if runtime.functionality == key]


def runtime_key(text: str) -> DispatchKey:
    """The one runtime key of a name. Raise DispatchvizError for any other name."""
    key = find_key(text)
    found = _runtime(key)
    if found == [key]:
        return key
    kind = "an alias" if key.is_alias else "no table entry of its own"
    verb = "is" if key.is_alias else "has"
    raise DispatchvizError(
        f"{key.name} {verb} {kind}: it covers {len(found)} keys; name one of them, such as {_example(found)} "
        f"(dispatchviz keys {key.name} shows more)"
    )


def _example(keys: list[DispatchKey]) -> str:
    return next((key.name for key in keys if key.name.endswith("CUDA")), keys[0].name)
