"""The Textual layout that puts widgets into the boxes of ``layout``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.widget import Widget

from dispatchviz.views.layout.pane_layout import Box


class BoxLayout(Layout):
    """A layout that gives each widget the box of its id. Other widgets (Textual's own toasts) go where Textual puts
    them.
    """

    name = "boxes"

    def __init__(self, boxes: Callable[[Size], Mapping[str, Box]]) -> None:
        self._boxes = boxes

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        boxes = self._boxes(size)
        placed = [_placement(child, boxes[child.id]) for child in children if child.id and child.id in boxes]
        others = [child for child in children if child.id not in boxes]
        return placed + (VerticalLayout().arrange(parent, others, size, greedy) if others else [])


def _placement(widget: Widget, box: Box) -> WidgetPlacement:
    return WidgetPlacement(Region(*box), NULL_OFFSET, NULL_SPACING, widget)
