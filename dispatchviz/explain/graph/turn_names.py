"""One name for what is called otherwise in each turn of a repeat."""

from __future__ import annotations

from collections.abc import Sequence

ANOTHER = "*"
"""In the name of a leaf: in each turn another part of the path."""

OTHERS = " …"
"""After the name of a leaf that is another one in each turn."""


def in_all_turns(names: Sequence[str]) -> str:
    """One name for the leaves of all turns: ``layers.*.up.bias``; ``x …`` of names that have no part in common."""
    parts = [name.split(".") for name in names]
    if len(set(names)) == 1:
        return names[0]
    if len({len(split) for split in parts}) > 1 or not any(len(set(part)) == 1 for part in zip(*parts, strict=True)):
        return f"{names[0]}{OTHERS}"
    return ".".join(part[0] if len(set(part)) == 1 else ANOTHER for part in zip(*parts, strict=True))
