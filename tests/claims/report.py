"""The checked claims, as a table of the kinds of sentences, and the kinds without a check."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from scripts.sentences.unchecked import UNCHECKED


def table(programs: int, counted: list[Any]) -> str:
    """A line for each kind: how often PyTorch was asked, and how often the subject could not be found."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, how, count in counted:
        counts[kind, how] += count
    kinds = sorted({kind for kind, _ in counts})
    rows = [f"{counts[kind, 'asked']:8} {counts[kind, 'cannot be asked']:8}  {kind}" for kind in kinds]
    total = sum(counts[kind, "asked"] for kind in kinds)
    return "\n".join(
        [
            f"{programs} programs, {len(kinds)} kinds with claims, {total} asked",
            "   asked   cannot  kind",
            *rows,
            *_unchecked(),
        ]
    )


def _unchecked() -> Iterator[str]:
    """Yield the kinds that make no claims, by reason."""
    for reason, kinds in UNCHECKED.items():
        yield f"{len(kinds)} kinds are not put to PyTorch: each {reason}"
        yield textwrap.fill(", ".join(kinds), 116, initial_indent="    ", subsequent_indent="    ")
