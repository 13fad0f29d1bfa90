"""Tests of painting: a step paints everything that changed, once, and nothing outdated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from textual._compositor import Compositor
from textual.strip import Strip
from textual.widget import Widget

from dispatchviz.tui.terminal.palette import Palette, Readable
from dispatchviz.tui.widgets.painted_lines import PaintedLines
from dispatchviz.views.layout.pane_layout import STEPS
from tests.steps import last_step

from .screens import SIZES, Reader, stepper
from .synthetic import forum

END = last_step(forum())
WALK = ("s",) * END + ("S",) * END


@contextmanager
def counted(owner: type[Any], method: str) -> Iterator[list[object]]:
    """Yield a list that gets an entry for each call of a method."""
    calls, real = list[object](), getattr(owner, method)

    def counting(self: object, *arguments: object, **named: object) -> object:
        calls.append(self)
        return real(self, *arguments, **named)

    with patch.object(owner, method, counting):
        yield calls


def painted(reader: Reader) -> list[Strip]:
    return reader.app.screen._compositor.render_strips()


@pytest.mark.parametrize("size", SIZES)
async def test_a_step_is_painted_once_though_panes_come_and_go(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        with counted(Compositor, "render_update") as frames, counted(Compositor, "reflow") as layouts:
            for key in WALK[:END]:
                await reader.press(key)
        assert reader.at == END
        assert END // 2 < len(frames) <= END  # a key that comes soon may share a frame
        assert 0 < len(layouts) < len(frames)


@pytest.mark.parametrize("size", SIZES)
async def test_cached_lines_equal_a_full_repaint(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        for key in ("s", "s", "tab", "s", "down", "5", "s", "s", "pagedown", "1", "s", "plus", "s", "minus", "G", "g"):
            await reader.press(key)
            kept = painted(reader)
            for widget in reader.app.view.query(PaintedLines):
                widget.refresh()
            assert painted(reader) == kept, key


async def test_only_changed_lines_are_made_again() -> None:
    async with stepper(forum()) as reader:
        await reader.press("s", "s", "s")
        bar = reader.app.view.query_one("#footer", PaintedLines)
        with counted(type(bar), "render_line") as made:
            await reader.press("s")
            assert bar not in made
            bar.refresh()
            await reader.press("s")
            assert bar in made
        with counted(Widget, "render_lines") as textuals:
            await reader.press("question_mark")
            await reader.until(lambda: reader.sees("Help"))
        assert "HelpView" in {type(widget).__name__ for widget in textuals}, "a widget with padding is left to Textual"


async def test_a_row_that_only_moves_is_painted_from_its_old_strip() -> None:
    async with stepper(forum()) as reader:
        steps = reader.app.view.panes[STEPS]
        await reader.press(*"fa", "enter")
        assert steps.scroll_rows(5)
        await reader.answered()
        with counted(Palette, "segments") as made:
            steps.scroll_rows(6)
            await reader.answered()
        assert len(made) <= 2 * 3 < steps.port.rows, "one row is new, and two cells of the scroll bar may change"


async def test_a_line_is_colored_once() -> None:
    async with stepper(forum()) as reader:
        filters = [reader.app.get_line_filters() for _ in range(2)]
        assert filters[0] == filters[1], "Textual keeps a colored line with its filter"
        with counted(Readable, "apply") as colored:
            for widget in reader.app.view.query(PaintedLines):
                widget.refresh()
            await reader.answered()
        assert not colored
