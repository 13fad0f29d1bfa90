"""A section of the engine pane: a summary line, and rows that are shown if the step is about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, Span, line

FOLDED_AWAY, UNFOLDED = "▸ ", "▾ "

FEW, MANY = 4, 12
"""The maximum number of rows of a list, beside other sections and in the section of the step."""


class Section(Struct, frozen=True):
    """One section of the pane."""

    name: str
    said: tuple[Span, ...]
    """The text after the name, folded or not."""
    rows: Callable[[], Iterable[Line]]
    """A function that makes the other rows; it is not called while the section is folded."""
    is_open: bool
    """True if the step is about it, or the reader unfolded all sections."""
    goto: int | None = None
    """The step that shows the event; None if there is none."""


def section_lines(section: Section) -> Iterator[Line]:
    """Yield the line with the name, and the rows if the section is unfolded."""
    sign = UNFOLDED if section.is_open else FOLDED_AWAY
    yield line((sign, "dim"), (section.name, "title"), "  ", *section.said, key=f"section {section.name}",
               value="".join(text for text, _ in section.said), goto=section.goto, cut=True)  # fmt: skip
    if section.is_open:
        yield from section.rows()


def in_view(rows: Iterable[Line], wanted: bool) -> list[Line]:
    """The rows; if ``wanted`` is true, the first one must be in view."""
    found = list(rows)
    return [replace(found[0], here=True), *found[1:]] if found and wanted else found


def more(number: int) -> Iterator[Line]:
    """Yield a note on the remaining items of a list."""
    if number > 0:
        yield line((f"    … {number:,} more", "dim"))
