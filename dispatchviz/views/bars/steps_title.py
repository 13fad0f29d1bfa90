"""The title of the step list: what is searched for, and which of how many hits this is."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.text.line_fitting import shorter

LONGEST = 24
"""Cells for a query."""


def steps_title(cursor: Cursor) -> str:
    """``Steps · /key:CUDA: hit 3/17``."""
    return " · ".join(("Steps", *_search(cursor)))


def _search(cursor: Cursor) -> Iterator[str]:
    search = cursor.search
    if search is None or not search.query.strip():
        return
    number, count = search.position(cursor.at)
    hit = f"hit {number:,}/{count:,}" if search.matches(cursor.at) else f"{count:,} {'hit' if count == 1 else 'hits'}"
    searched = "" if search.complete else f" so far ({search.percent} %)"
    yield f"/{shorter(search.query.strip(), LONGEST)}: {hit}{searched}"
