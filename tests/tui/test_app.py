"""Tests of the stepper as a reader opens it: every screen, every text, every theme, its end."""

from __future__ import annotations

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.app import show
from dispatchviz.tui.commands.choosing_panes import pane, zoom
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.layout.pane_layout import PANES
from tests.hostile_texts import raw
from tests.steps import last_step

from .screens import SIZES, stepper
from .synthetic import awkward, big, forum

END = last_step(forum())

AWKWARD = ["[/]", "[a]", "f[N]", "[2, 3]", "[bold]x", "$x", "a\nb", "\x1b[2J", "日本語", "{x!r}"]


@pytest.mark.parametrize("size", SIZES)
async def test_first_screen_shows_counts_position_and_device(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        assert reader.sees("5 lines · 2 operator calls · 3 Nodes · 1 backward", "→ unfold", "s step", "keys")
        assert reader.sees(
            f"forum.py  step 0 of {END + 1}  depth 0  forward", "cuda: emulated on NumPy (CuPy is not installed)"
        )
        assert reader.sees("▶  0 ", " 3  x = torch")
        assert all(len(row) == size[0] for row in reader.screen)


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
async def test_every_step_shows_position_and_sentence_at_every_size(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        for at in range(1, len(forum())):
            await reader.move("into")
            assert f"step {at} of {END + 1}" in reader.screen[0]
            await reader.until(lambda at=at: f"▶ {at:>2} " in reader.text)
            # Where the header needs a second row, that row comes with the next layout.
            await reader.until(lambda: reader.sees("cuda: emulated on NumPy (CuPy is not installed)"))
            assert reader.app.view.query_one("#why").plain[0].strip()


@pytest.mark.parametrize(("text", "size"), [("[bold]x [/]", (120, 40)), (" ".join(AWKWARD), (80, 24))])
async def test_awkward_words_are_shown_unchanged(text: str, size: tuple[int, int]) -> None:
    trace = awkward(text)
    async with stepper(trace, size) as reader:
        await reader.press("g")
        for _ in range(len(trace)):
            await reader.move("into")
            assert not raw(reader.text)
        for number in PANES:
            pane(reader.app.view, number)
            zoom(reader.app.view)
            await reader.move("into_back")
            zoom(reader.app.view)
        await reader.pilot.pause()
        if text.isprintable() and text.isascii():
            everything = "\n".join(
                row for each in reader.app.view.panes.values() if isinstance(each, PaneView) for row in each.plain
            )
            assert text in everything
            assert text in reader.text


async def test_damaged_file_has_a_notice_on_every_screen() -> None:
    whole = forum()
    trace = Trace(whole.header, whole.events, "x.jsonl is cut off: it opens up to step so and so")
    async with stepper(trace, (80, 24)) as reader:
        for keys in ("s", "G", "enter"):
            await reader.press(keys)
            assert reader.sees(trace.notice, "cuda: emulated")


async def test_no_color_removes_colors_and_keeps_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stepper(forum()) as reader:
        await reader.press("s")
        assert reader.sees("▶  1", "▌ 1 Steps")
        for strip in reader.app.screen._compositor.render_strips():
            for segment in strip:
                colors = (segment.style.color, segment.style.bgcolor) if segment.style else ()
                assert all(color is None or color.is_default for color in colors)


async def test_long_trace_opens_and_steps_like_a_short_one() -> None:
    trace = big(100_000)
    async with stepper(trace) as reader:
        assert reader.sees(f"step 0 of {len(trace):,}")
        await reader.press("G")
        assert reader.at == len(trace) - 1
        assert reader.sees(f"▶ {len(trace) - 1}")
        await reader.press("S", "C")
        assert reader.at < len(trace) - 2


def test_empty_trace_opens_no_stepper_and_prints_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    trace = forum()
    show(Trace(trace.header, []))
    assert capsys.readouterr().out == "forum.py: nothing was recorded, so there are no steps to show\n"


async def test_every_theme_paints() -> None:
    async with stepper(forum()) as reader:
        for theme in reader.app.available_themes:
            reader.app.theme = theme
            await reader.pilot.pause()
            assert reader.sees("1 Steps", "cuda: emulated")


async def test_terminal_that_shrinks_too_far_recovers_when_it_grows() -> None:
    async with stepper(forum()) as reader:
        for size in [(30, 8), (10, 3), (1, 1), (120, 40)]:
            await reader.pilot.resize_terminal(*size)
            await reader.press("s")
        assert reader.sees("1 Steps", f"step 4 of {END + 1}", "6 Backward graph")
        await reader.press("ctrl+c")
        assert reader.sees("q quits")
