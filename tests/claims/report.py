"""What was asked, as a table of the kinds of sentences."""

from __future__ import annotations

from collections import Counter
from typing import Any


def table(programs: int, counted: list[Any]) -> str:
    """A line per kind: how often PyTorch was asked, how often nothing led to what was spoken of."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, how, count in counted:
        counts[kind, how] += count
    kinds = sorted({kind for kind, _ in counts})
    rows = [f"{counts[kind, 'asked']:8} {counts[kind, 'cannot be asked']:8}  {kind}" for kind in kinds]
    total = sum(counts[kind, "asked"] for kind in kinds)
    return "\n".join(
        [f"{programs} programs, {len(kinds)} kinds with claims, {total} asked", "   asked   cannot  kind", *rows]
    )
