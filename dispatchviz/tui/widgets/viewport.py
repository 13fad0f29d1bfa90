"""The viewport of a list under a title: which of its rows are in sight. Plain arithmetic in terminal cells."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, line


@dataclass
class Viewport:
    """The size of the widget, and how far its rows are scrolled."""

    count: int = 0
    """All rows, in sight or not."""
    top: int = 0
    """The first row in sight."""
    left: int = 0
    """The first cell in sight of rows that are cut."""
    width: int = 0
    height: int = 0
    """With the title, which is in the first row of the widget."""

    @property
    def rows(self) -> int:
        """How many rows are in sight at most."""
        return max(self.height - 1, 1)

    @property
    def in_sight(self) -> range:
        """The rows that are in sight."""
        return range(self.top, min(self.top + self.rows, self.count))

    @property
    def page(self) -> int:
        """The rows of a page: pages overlap by one."""
        return max(self.rows - 1, 1)

    @property
    def row_width(self) -> int:
        """Cells for text; the last column belongs to the scroll bar."""
        return max(self.width - 1, 1)

    def resize(self, width: int, height: int) -> bool:
        """Take on a size; return whether it is another one."""
        changed = (width, height) != (self.width, self.height)
        self.width, self.height = width, height
        return changed

    def scroll(self, top: int) -> bool:
        """Scroll so that a row is the first in sight, as far as there are rows; return whether it moved."""
        before, self.top = self.top, max(0, min(top, self.count - self.rows))
        return self.top != before

    def reveal(self, at: int, margin: int) -> bool:
        """Scroll as little as it takes to have a row in sight with some rows around it; return as ``scroll``."""
        margin = min(margin, (self.rows - 1) // 2)
        return self.scroll(min(max(self.top, at + margin - self.rows + 1), max(at - margin, 0)))

    def look(self, at: int | None, margin: int) -> bool:
        """Reveals the row to look at; scrolls to the top if there is none. Returns as ``scroll``."""
        return self.scroll(0) if at is None else self.reveal(at, margin)

    def sideways(self, by: int, widest: int) -> bool:
        """Scroll rows that are cut, as far as the widest goes; return as ``scroll``."""
        before, self.left = self.left, max(0, min(self.left + by, widest - self.row_width))
        return self.left != before

    def row_at(self, y: int) -> int | None:
        """The row that is shown in a row of the widget; None for the title and below the last row."""
        at = self.top + y - 1
        return at if y > 0 and at < self.count else None

    def y_of(self, at: int) -> int | None:
        """The row of the widget in which a row is shown; None if it is not in sight."""
        return at - self.top + 1 if 0 <= at - self.top < self.rows else None

    def bar_cell(self, y: int) -> Line:
        """The scroll bar in a row of the widget; nothing if all rows are in sight."""
        if self.count <= self.rows:
            return Line()
        size = max(1, self.rows * self.rows // self.count)
        start = 1 + self.top * (self.rows - size) // (self.count - self.rows)
        return line(("┃", "title") if start <= y < start + size else ("│", "rule"))


def title_row(key: str, title: str, focused: bool, width: int, said: Line | None = None) -> Line:
    """The title of a pane, with its key unless that is empty, on a rule; what a pane says that has no other row."""
    head = f"{'▌' if focused else '─'} {f'{key} ' if key else ''}{title}{':' if said else ''} "
    row = line((head, "focus" if focused else "title"))
    row = row if said is None else replace(row, spans=(*row.spans, *said.spans, (" ", "")))
    return replace(row, spans=(*row.spans, ("─" * max(width - 1 - row.width, 0), "rule")))
