"""The screen of the stepper: a scene in its bars and panes, and the input line.

Elsewhere: the moves of the cursor (``actions.py``), the choice of panes (``commands/choosing_panes.py``), the contents
of the bars and the positions of widgets (``layout/screen_plan.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Thread

from textual import events
from textual.app import ComposeResult
from textual.layout import Layout
from textual.theme import Theme

from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.terminal.terminal_app import View
from dispatchviz.tui.widgets.box_layout import BoxLayout
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.tui.widgets.stepper_widgets import StepperWidgets
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import QUITS, Leaving, pane_key
from dispatchviz.views.layout.kept_layouts import read_layouts
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.layout.screen_plan import NOTHING_SAID, Scene
from dispatchviz.views.lesson_rows import Said
from dispatchviz.views.text.styled_line import Line


class StepperScreen(View):
    """The screen that shows one cursor, in the panes that its step needs or the reader has chosen."""

    def __init__(
        self,
        cursor: Cursor,
        choice: PaneChoice | None = None,
        leaving: Leaving = QUITS,
        lesson: Said = NOTHING_SAID,
        opened: Callable[[], Cursor] | None = None,
    ) -> None:
        """Create the screen. ``opened`` is called once, after the first paint and before the first key, and returns the
        first cursor.
        """
        super().__init__()
        self._opened = opened or (lambda: cursor)
        chosen = choice or PaneChoice(kept=read_layouts())
        self.scene = Scene(cursor, opened_at=cursor.at, choice=chosen, leaving=leaving, lesson=lesson)
        self._widgets, self._complete = StepperWidgets(cursor), False
        self.loads_ahead: Thread | None = None
        """The thread that loads what keys need; None until the first screen is complete."""
        self.panes = self._widgets.panes
        self._box_layout = BoxLayout(lambda size: self.scene.plan(*size).boxes)

    @property
    def layout(self) -> Layout:
        return self._box_layout

    def compose(self) -> ComposeResult:
        self.use_theme()
        self.show(self.scene.cursor)  # before the first layout, so that the first paint is complete
        yield from self._widgets

    def on_mount(self) -> None:
        self.panes[STEPS].focus()
        self.call_after_refresh(self._fill_panes)

    async def _fill_panes(self) -> None:
        """Complete the first screen, then color the source: the visible parts come first."""
        self._complete, cursor = True, self._opened()
        self.scene = replace(self.scene, opened_at=cursor.at)
        self.show(cursor, self.scene.note)
        await self.make_prompt(self.panes[STEPS])
        self.call_after_refresh(self._load)

    def _load(self) -> None:
        """Color the source, then load what all keys need."""
        from dispatchviz.tui.loaded_ahead import load_ahead

        self._widgets.color_source()
        self.loads_ahead = load_ahead(self.scene.cursor.trace)

    def use_theme(self, theme: Theme | None = None) -> None:
        """Paint everything in the colors of the application's theme."""
        contrast = self.scene.choice.presenting
        self.palette = Palette(self.app.theme_variables, self.app.no_color, contrast)
        self._widgets.use_palette(self.palette)

    def show_keys(self) -> None:
        """Show the keys of another keymap in the titles."""
        for pane in self.panes.values():
            pane.key = pane_key(pane.number)
            pane.refresh()

    def show(
        self,
        cursor: Cursor,
        note: Line | None = None,
        choice: PaneChoice | None = None,
        asks: Prediction | None = None,
        lesson: Said | None = None,
    ) -> None:
        """Show the step of a cursor, with a note on how the reader came there, the lesson's text if it changed, and the
        chosen panes. While a question is open, show only the steps.
        """
        choice, label = choice or self.scene.choice, self.prompt.label if self.prompt else ""
        said = self.scene.lesson if lesson is None else lesson
        self.scene = replace(self.scene, cursor=cursor, note=note, choice=choice, label=label, asks=asks, lesson=said)
        self._widgets.show(self.scene.plan(*self.app.size), cursor, self._complete)

    def on_resize(self, event: events.Resize) -> None:
        self.show(self.scene.cursor, self.scene.note, asks=self.scene.asks)

    @property
    def has_focused_pane(self) -> bool:
        """True if a pane has the focus, not the input line."""
        return isinstance(self.focused, RowsView)

    @property
    def focused_pane(self) -> int:
        """The number of the focused pane; that of the step list if no pane has the focus."""
        return self.focused.number if isinstance(self.focused, RowsView) else STEPS

    @property
    def focused_view(self) -> PaneView | None:
        """The focused pane; None if it is the step list."""
        pane = self.panes[self.focused_pane]
        return pane if isinstance(pane, PaneView) else None

    @property
    def chosen_row(self) -> Line | None:
        """The chosen row of the focused pane."""
        return None if self.focused_view is None else self.focused_view.chosen_row
