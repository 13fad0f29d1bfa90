"""Dispatch keys that a release adds, removes or renumbers, and key sets that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truth import records
from truth.following import Left, some
from truth.following.stored_answers import differences

KEYS = "change dispatchviz/core/keys/keys.py"
LAYOUT = "python -m truth.record key_layouts/.../torch/include/c10/core/DispatchKey.h"
RECORD = "python -m truth.record dispatch_keys; git diff"


def left() -> Iterator[Left]:
    """Yield the changed keys."""
    from truth.recorders.dispatch_keys import key_names

    yield from changed(records.read("dispatch_keys")["names"], key_names())
    yield from some("key sets that differ", differences("dispatch_keys"), RECORD)


def changed(before: Sequence[str], after: Sequence[str]) -> Iterator[Left]:
    """Yield the differences between two lists of keys by number."""
    yield from some("keys added", [key for key in after if key not in before], f"{KEYS}; {LAYOUT}")
    yield from some("keys removed", [key for key in before if key not in after], f"{KEYS}; {LAYOUT}")
    both = [key for key in before if key in after]
    yield from some("keys with another number", [key for key in both if before.index(key) != after.index(key)], KEYS)
