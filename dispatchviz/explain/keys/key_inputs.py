"""The inputs of ``keys``: the name of a key, names that are joined to a set, a number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from dispatchviz.core.keys.key_set import raw
from dispatchviz.explain.keys.key_names import find_key
from dispatchviz.explain.keys.raw_key_sets import RawSetCard, raw_set_card
from dispatchviz.foundation.errors import DispatchvizError

if TYPE_CHECKING:
    from dispatchviz.core.table.registry import Registry
    from dispatchviz.explain.keys.key_cards import KeyCard


def read(text: str, registered: Callable[[], tuple[Registry, str]]) -> KeyCard | RawSetCard:
    """Return the card of the key or set that a text names. Raise DispatchvizError if it names nothing.

    ``registered`` returns the registry and the name of the build. Sets need neither.
    """
    number = number_in(text)
    if number is not None:
        return raw_set_card(number)
    names = names_in(text)
    if len(names) == 1 and not text.startswith("DispatchKeySet"):
        from dispatchviz.explain.keys.key_cards import key_card

        return key_card(find_key(names[0]), *registered())
    return raw_set_card(_joined(names))


def number_in(text: str) -> int | None:
    """Parse a decimal number, ``0x1000010001`` or ``0b...``, also with C++ suffixes. Raise DispatchvizError if it is
    negative.
    """
    plain = re.sub(r"(?<=[0-9a-fA-F])[uUlL]{1,3}$", "", text.strip())
    try:
        number = int(plain, 0)
    except ValueError:
        return None
    if number < 0:
        raise DispatchvizError(f"a raw key set is a number from 0 to 2**64 - 1, not {number}")
    return number


def names_in(text: str) -> list[str]:
    """``CPU+AutogradCPU``, ``CPU|AutogradCPU``, ``DispatchKeySet(CPU, AutogradCPU)``."""
    inner = re.fullmatch(r"\s*DispatchKeySet\((.*)\)\s*", text)
    return [name for name in re.split(r"[+|,\s]+", inner[1] if inner else text) if name]


def _joined(names: list[str]) -> int:
    keys = [find_key(name) for name in names]
    for key in keys:
        if key.is_alias:
            raise DispatchvizError(f"{key.name} is an alias and has no bit, so no key set has it")
    return raw(*keys)
