"""The screen of the stepper: which widgets there are, where they go, and what they show of a cursor.

Not here: what moves the cursor (``app.py``), the arithmetic of the boxes (``layout.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.layout import Layout
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from dispatchviz.tui import highlight
from dispatchviz.tui.bars import Bar, footer_row
from dispatchviz.tui.boxes import Boxes
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.event_list import EventList
from dispatchviz.tui.header import header_rows
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.layout import SMALLEST, SOURCE, STEPS, Box, Frame, arrange, chosen, slots, why_height
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.pane import Pane
from dispatchviz.tui.panes import PANES, rows_of
from dispatchviz.tui.text import Line, line, wrap
from dispatchviz.tui.titled import TitledView
from dispatchviz.tui.why_bar import first_hint, needed_rows, why_rows

if TYPE_CHECKING:
    from dispatchviz.tui.prompt import Prompt


class StepperScreen(Screen[None]):
    """Shows one cursor; knows which panes the reader wants to see."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__()
        self._cursor = cursor
        self._opened_at = cursor.at
        self._opened = False
        self._note: Line | None = None
        self._boxes = Boxes(self.boxes)
        self._header, self._why, self._footer = map(Bar, ("header", "why", "footer"))
        self._arranged: dict[str, Box] = {}
        self._needed: tuple[int, list[Line]] = (0, [])
        self._asked = ""
        self._asked_from: Widget | None = None
        self.prompt: Prompt | None = None
        """The line to type in; there as soon as keys can be answered."""
        self.pinned: int | None = None
        self.zoomed: int | None = None
        self.steps = EventList(cursor)
        self.panes: dict[int, TitledView] = {STEPS: self.steps}
        self.panes |= {number: Pane(number, title, rows_of(module)) for number, (title, module) in PANES.items()}

    @property
    def layout(self) -> Layout:
        return self._boxes

    def compose(self) -> ComposeResult:
        self.use_palette(Palette(self.app.theme_variables, self.app.no_color))
        self.stand(self._cursor)  # before the first layout, so that the first paint has it all
        yield from (self._header, self._why, *self.panes.values(), self._footer)

    def on_mount(self) -> None:
        self.steps.focus()
        self.call_after_refresh(self._fill_panes)

    async def _fill_panes(self) -> None:
        """The rest of the first screen, and then colours for the source: what is seen first comes first."""
        self._opened = True
        self.stand(self._cursor, self._note)
        await self._make_prompt()
        self.call_after_refresh(self._colour_source)

    async def _make_prompt(self) -> None:
        """From now on keys are answered: a line to type in that is made in a key's wake would miss the next key."""
        from dispatchviz.tui.prompt import Prompt  # not for the first paint

        prompt = Prompt()
        await self.mount(prompt)
        self.prompt = prompt
        self.post_message(Ready())

    def _colour_source(self) -> None:
        highlight.load()
        source = self.panes[SOURCE]
        if isinstance(source, Pane):
            source.show_again()

    def use_palette(self, palette: Palette) -> None:
        """Paints everything in the colours of a theme."""
        self.palette = palette
        widgets: tuple[Bar | TitledView, ...] = (self._header, self._why, self._footer, *self.panes.values())
        for widget in widgets:
            widget.palette = palette
            widget.refresh()

    # -- what they show -----------------------------------------------------------------------------------------------

    def stand(self, cursor: Cursor, note: Line | None = None) -> None:
        """Shows the place where the reader stands now, and what there is to say about how they came there."""
        self._cursor, self._note, size = cursor, note, self.app.size
        self._needed = (0, [])
        self._arrange()
        if self._too_small(size):
            self._header.show(too_small(size))
            return
        self._header.show(header_rows(cursor, size.width))
        self._why.show(why_rows(cursor, self._must_say(size.width), size.width, self._frame(size).why))
        footer = footer_row(size.width, bool(cursor.breakpoints))
        self._footer.show([line((self._asked, "keycap")) if self._asked else footer])
        for pane in self.panes.values():
            if pane.display and (self._opened or pane is self.steps):
                pane.show(cursor)

    def _must_say(self, width: int) -> list[Line]:
        """What the bar must say at the place where the reader stands, made once for a width."""
        if self._needed[0] != width:
            self._needed = width, needed_rows(self._cursor, self._hint(), width)
        return self._needed[1]

    def _hint(self) -> Line | None:
        at_start = self._note is None and self._cursor.at == self._opened_at
        return first_hint(self._cursor.trace, self._cursor.at) if at_start else self._note

    # -- what is where ------------------------------------------------------------------------------------------------

    def boxes(self, size: Size) -> dict[str, Box]:
        """The box of every widget that is on a screen of this size."""
        (width, height), taken = size, len(self._asked)
        if self._too_small(size):
            return {"header": Box(0, 0, width, height)}
        frame = self._frame(size)
        bottom = {
            "footer": Box(0, height - frame.footer, taken or width, frame.footer),
            "prompt": Box(taken, height - frame.footer, width - taken, frame.footer),
        }
        around = _from_the_top({"header": frame.header, "why": frame.why}, width) | bottom
        return {f"pane{number}": box for number, box in self._places(size).items()} | around

    def _places(self, size: Size) -> dict[int, Box]:
        """The boxes of the panes that are on the screen."""
        if self._too_small(size):
            return {}
        event = self._cursor.trace[self._cursor.at]
        shown = chosen(event, self.pinned, slots(*size))
        return arrange(*size, shown, self._frame(size), self.zoomed)

    def _frame(self, size: Size) -> Frame:
        why = why_height(size.height, len(self._must_say(size.width)))
        return Frame(header=len(header_rows(self._cursor, size.width)), why=why)

    def _too_small(self, size: Size) -> bool:
        return size.width < SMALLEST[0] or size.height < SMALLEST[1]

    def _arrange(self) -> None:
        """Shows and hides what is on the screen, as the step needs it and the screen has room."""
        size = self.app.size
        places, boxes = self._places(size), self.boxes(size)
        if boxes != self._arranged:
            self._arranged = boxes
            for number, pane in self.panes.items():
                pane.display = number in places
            for bar in (self._why, self._footer):
                bar.display = bar.id in boxes
            self._header.refresh(layout=True)  # a widget within: Textual keeps the arrangement of a screen that has not
        for number, box in places.items():
            self.panes[number].fit(box.width, box.height)

    def on_resize(self, event: events.Resize) -> None:
        self.stand(self._cursor, self._note)

    def select(self, number: int) -> None:
        """Gives a pane the focus and keeps it on the screen; the steps let the other panes follow again."""
        was, self.pinned = self.pinned, None if number == STEPS else number
        self.zoomed = number if self.zoomed else None
        self.stand(self._cursor, self._pin_note(was))
        self.panes[number].focus(scroll_visible=False)

    def _pin_note(self, was: int | None) -> Line | None:
        """What a choice of panes means, where not all of them have room."""
        if slots(*self.app.size) == len(PANES) or self.pinned == was:
            return None
        free = key_of(f"pane({STEPS})").first
        text = (
            f" This pane stays; {free} lets the panes follow the step again"
            if self.pinned
            else " Panes follow the step"
        )
        return line((text, "hint"))

    def zoom(self, wanted: bool | None = None) -> None:
        """Gives the pane with the focus the whole screen, or gives the others their room back."""
        wanted = not self.zoomed if wanted is None else wanted
        pane = self.focused
        self.zoomed = pane.number if wanted and isinstance(pane, TitledView) else None
        back = f" {key_of('zoom').first} or {key_of('unzoom').first}: all panes again"
        self.stand(self._cursor, line((back, "hint")) if self.zoomed else None)

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        hint: str,
        look: Callable[[str], None],
        done: Callable[[str | None], None],
        note: Line | None = None,
    ) -> None:
        """Puts a question in the footer's place."""
        assert self.prompt is not None  # no key is answered before
        self._asked, self._asked_from = f" {question}: ", self.focused
        self.stand(self._cursor, note)
        self.prompt.ask(hint, look, done)

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return bool(self._asked)

    def answered(self) -> None:
        """Takes it away again."""
        self._asked = ""
        (self._asked_from or self.steps).focus()


class Ready(Message):
    """The first screen is there, and keys can be answered."""


def too_small(size: Size) -> list[Line]:
    """What a terminal shows in which the stepper has no room."""
    text = f"The terminal is {size.width}x{size.height}, the stepper needs {SMALLEST[0]}x{SMALLEST[1]}"
    return wrap(line((text, "warning")), max(size.width, 1))


def _from_the_top(rows: dict[str, int], width: int) -> dict[str, Box]:
    top, boxes = 0, dict[str, Box]()
    for name, height in rows.items():
        boxes[name] = Box(0, top, width, height)
        top += height
    return boxes
