"""A section of the engine pane: a line that sums it up, and rows that are shown where the step is about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, Span, line

FOLDED_AWAY, UNFOLDED = "▸ ", "▾ "

FEW, MANY = 4, 12
"""So many rows of a list are shown beside other sections, and where the step is about it."""


@dataclass(frozen=True, slots=True)
class Section:
    """What the pane says of one subject."""

    name: str
    said: tuple[Span, ...]
    """What stands behind the name, folded or not."""
    rows: Callable[[], Iterable[Line]]
    """The rest; not asked for while it is folded."""
    is_open: bool
    """The step is about it, or the reader wants all of it."""
    goto: int | None = None
    """Where the reader sees it happen."""


def section_lines(section: Section) -> Iterator[Line]:
    """The line with the name; below it the rows, if the section is unfolded."""
    sign = UNFOLDED if section.is_open else FOLDED_AWAY
    yield line((sign, "dim"), (section.name, "title"), "  ", *section.said, key=f"section {section.name}",
               value="".join(text for text, _ in section.said), goto=section.goto, cut=True)  # fmt: skip
    if section.is_open:
        yield from section.rows()


def in_view(rows: Iterable[Line], wanted: bool) -> list[Line]:
    """The rows; if it is wanted the first one must be in view."""
    found = list(rows)
    return [replace(found[0], here=True), *found[1:]] if found and wanted else found


def more(number: int) -> Iterator[Line]:
    """That there is more of a list."""
    if number > 0:
        yield line((f"    … {number:,} more", "dim"))
