"""The rows around the panes: header, why, footer. They are always on the screen and never scroll."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from textual.strip import Strip
from textual.widget import Widget

from dispatchviz.core.events import BackwardStarted, ProgramRaised
from dispatchviz.core.trace import Trace
from dispatchviz.explain.sentences import rule, why_here
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.keymap import FOOTER_KEYS, KEYMAP, Key, key_of
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, Span, line, paragraphs


class Bar(Widget):
    """Rows of text, cut to the size that the layout gives."""

    palette: Palette

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._rows: Sequence[Line] = ()

    def show(self, rows: Sequence[Line]) -> None:
        """Replaces the text."""
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    @property
    def plain(self) -> list[str]:
        """The text, a string per row."""
        return [row.plain for row in self._rows]

    def render_line(self, y: int) -> Strip:
        row = self._rows[y] if y < len(self._rows) else Line()
        style = self.palette.base if self.id == "why" else self.palette.bar
        return self.palette.strip(row, self.size.width, style)


def header_rows(cursor: Cursor, width: int) -> list[Line]:
    """Program, position and CUDA state; two rows where one does not hold them, one more for what is wrong with the
    file that the trace came from."""
    header = cursor.trace.header
    place = f"{cursor.at}/{cursor.last_step}"
    direction = "backward" if runs_backward(cursor.trace, cursor.at) else "forward"
    program = line(" ", (header.program, "bold"), "  ", (place, "hint"), f"  depth {cursor.depth}  {direction}")
    cuda: tuple[Span, ...] = ((" cuda: ", "dim"), (header.cuda, ""))
    joined = replace(program, spans=(*program.spans, (" ", ""), *line(*cuda).spans))
    rows = [joined] if joined.width < width else [program, line(*cuda)]
    notice = cursor.trace.notice
    return [*rows, line((" ! ", "warning"), (notice, "warning"))] if notice else rows


def runs_backward(trace: Trace, at: int) -> bool:
    """Whether a step belongs to a run of the engine."""
    return isinstance(trace[at], BackwardStarted) or any(isinstance(a, BackwardStarted) for a in trace.ancestors(at))


def first_hint(trace: Trace) -> Line:
    """What this is and the three keys that matter; where a program that raised left off, how to go back."""
    into, back, help_ = key_of("move('into')"), key_of("move('into_back')"), key_of("help")
    if isinstance(trace[-1], ProgramRaised):
        text = " The program stopped here with an error: "
        return line(
            (text, "error"),
            *_caps(back, "back"),
            *_caps(key_of("jump('first')"), "start"),
            *_caps(help_, "keys", first=True),
        )
    text = " Your program inside PyTorch, step by step: "
    return line((text, "hint"), *_caps(into, "next"), *_caps(back, "back"), *_caps(help_, "keys", first=True))


def footer_row(width: int) -> Line:
    """The keys of the footer, as many as fit, help and quit always."""
    keys = [key for key in KEYMAP if key.footer][:FOOTER_KEYS]
    parts = [_caps(key, key.footer, first=True) for key in keys]
    while len(parts) > 2 and line(" ", *(span for part in parts for span in part)).width > width:
        del parts[-3]
    return line(" ", *(span for part in parts for span in part))


def why_rows(cursor: Cursor, note: Line | None, width: int, most: int) -> list[Line]:
    """A note if there is one, the sentence of a step, and where there is room the rule behind it."""
    rows = [] if note is None else [note]
    return rows + _why_rows(cursor, width - 1, most - len(rows))


def _why_rows(cursor: Cursor, width: int, most: int) -> list[Line]:
    event = cursor.trace[cursor.at]
    rows = paragraphs([line(" ", (why_here(cursor.trace, cursor.at), "bold"), indent=1)], width, most)
    behind = rule(event)
    source = " · ".join(part for part in (behind.function, behind.file, behind.text) if part)
    return [*rows, *paragraphs([line(" ", (source, "dim"), indent=1)], width, max(most - len(rows), 1))][:most]


def _caps(key: Key, word: str, first: bool = False) -> tuple[Span, ...]:
    shown = key.first if first else key.shown
    return ((shown, "keycap"), (f" {word}   ", ""))
