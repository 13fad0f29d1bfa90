"""The viewport of a list under a title: the range of visible rows. It is plain arithmetic in terminal cells."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, line


class Viewport(Struct):
    """The size of the widget, and the scroll position of its rows."""

    count: int = 0
    """The number of all rows, visible or not."""
    top: int = 0
    """The first visible row."""
    left: int = 0
    """The first visible cell of rows that are cut."""
    width: int = 0
    height: int = 0
    """The height including the title, which is the first row of the widget."""

    @property
    def rows(self) -> int:
        """The maximum number of visible rows."""
        return max(self.height - 1, 1)

    @property
    def in_sight(self) -> range:
        """The visible rows."""
        return range(self.top, min(self.top + self.rows, self.count))

    @property
    def page(self) -> int:
        """The number of rows of a page; pages overlap by one row."""
        return max(self.rows - 1, 1)

    @property
    def row_width(self) -> int:
        """The cells for text; the last column belongs to the scroll bar."""
        return max(self.width - 1, 1)

    def resize(self, width: int, height: int) -> bool:
        """Accept a size. Return whether it changed."""
        changed = (width, height) != (self.width, self.height)
        self.width, self.height = width, height
        return changed

    def scroll(self, top: int) -> bool:
        """Scroll until a row is the first visible one, as far as there are rows. Return whether anything moved."""
        before, self.top = self.top, max(0, min(top, self.count - self.rows))
        return self.top != before

    def reveal(self, at: int, margin: int) -> bool:
        """Scroll just enough to show a row with some rows around it. Return whether anything moved."""
        margin = min(margin, (self.rows - 1) // 2)
        return self.scroll(min(max(self.top, at + margin - self.rows + 1), max(at - margin, 0)))

    def look(self, at: int | None, margin: int) -> bool:
        """Show the row in view, or scroll to the top if there is none. Return whether anything moved."""
        return self.scroll(0) if at is None else self.reveal(at, margin)

    def sideways(self, by: int, widest: int) -> bool:
        """Scroll rows that are cut sideways, as far as the widest one. Return whether anything moved."""
        before, self.left = self.left, max(0, min(self.left + by, widest - self.row_width))
        return self.left != before

    def row_at(self, y: int) -> int | None:
        """The row that is shown in a row of the widget; None for the title and below the last row."""
        at = self.top + y - 1
        return at if y > 0 and at < self.count else None

    def y_of(self, at: int) -> int | None:
        """The row of the widget that shows a row; None if it is not visible."""
        return at - self.top + 1 if 0 <= at - self.top < self.rows else None

    def bar_cell(self, y: int) -> Line:
        """The scroll bar in a row of the widget; empty if all rows are visible."""
        if self.count <= self.rows:
            return Line()
        size = max(1, self.rows * self.rows // self.count)
        start = 1 + self.top * (self.rows - size) // (self.count - self.rows)
        return line(("┃", "title") if start <= y < start + size else ("│", "rule"))


def title_row(key: str, title: str, focused: bool, width: int, said: Line | None = None) -> Line:
    """The title of a pane on a rule, with its key unless that is empty, and the text of a pane without rows."""
    head = f"{'▌' if focused else '─'} {f'{key} ' if key else ''}{title}{':' if said else ''} "
    row = line((head, "focus" if focused else "title"))
    row = row if said is None else replace(row, spans=(*row.spans, *said.spans, (" ", "")))
    return replace(row, spans=(*row.spans, ("─" * max(width - 1 - row.width, 0), "rule")))
