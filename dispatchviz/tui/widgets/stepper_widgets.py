"""The bars and panes of the stepper, and their arrangement by a screen plan."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.chosen_views import CallsView, EngineView, KeySetView
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.tui.widgets.step_list import StepList
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import CALLS, ENGINE, KEYS, SOURCE, STEPS
from dispatchviz.views.layout.screen_plan import ScreenPlan
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.text import code_colors


class StepperWidgets:
    """All widgets of a plan, except the input line."""

    def __init__(self, cursor: Cursor) -> None:
        self.bars = {name: Bar(name) for name in ("header", "why", "footer")}
        self.steps = StepList(cursor)
        self.panes: dict[int, StepList | PaneView] = {STEPS: self.steps}
        self.panes |= {number: PaneView(number, title, rows_of(module)) for number, (title, module) in PANES.items()}
        self.panes[KEYS] = KeySetView()
        self.panes[CALLS] = CallsView()
        self.panes[ENGINE] = EngineView()
        self._boxes: object = None
        """The last arrangement."""

    def __iter__(self) -> Iterator[Bar | RowsView]:
        """Yield the widgets from the top of the screen to the bottom."""
        yield from (self.bars["header"], self.bars["why"])
        yield from self.panes.values()
        yield self.bars["footer"]

    def use_palette(self, palette: Palette) -> None:
        """Paint everything in the colors of a theme."""
        for widget in self:
            widget.palette = palette
            widget.refresh()

    def show(self, plan: ScreenPlan, cursor: Cursor, complete: bool) -> None:
        """Show a plan and a cursor in its panes. Before the first screen is complete, show the cursor only in the step
        list.
        """
        self._arrange(plan)
        self.steps.short = plan.presenting
        for name, rows in plan.bars.items():
            self.bars[name].show(rows)
        for number, box in plan.panes.items():
            if complete or number == STEPS:
                self.panes[number].show(cursor, box.width, box.height)
            else:
                self.panes[number].fit(box.width, box.height)

    def _arrange(self, plan: ScreenPlan) -> None:
        """Show and hide widgets as the plan requires."""
        header, *others = self
        if plan.boxes != self._boxes:
            self._boxes = plan.boxes
            for widget in self:
                if box := plan.boxes.get(widget.id or ""):
                    widget.expect(box.width, box.height)
            for widget in others:
                widget.display = widget.id in plan.boxes
            header.refresh(layout=True)  # otherwise Textual reuses the arrangement

    def color_source(self) -> None:
        """Load the code that colors sources and the data of operators, and show the source again."""
        from dispatchviz.views.panes import source_pane  # not needed for the first paint

        code_colors.load()
        source_pane.load()
        source = self.panes[SOURCE]
        if isinstance(source, PaneView):
            source.show_again()
