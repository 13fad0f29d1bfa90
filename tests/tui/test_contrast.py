"""Tests that all text is readable in every theme: a contrast of 4.5 to its background, as WCAG 2 requires."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import BLACK
from textual.theme import BUILTIN_THEMES

from dispatchviz.tui.terminal.contrast import LEAST, contrast, muted, readable
from dispatchviz.tui.terminal.palette import Palette, Readable
from dispatchviz.tui.terminal.terminal_app import KeptThemes, TerminalApp
from dispatchviz.views.text.roles import ROLES
from dispatchviz.views.text.styled_line import line
from tests.amounts import some

from .screens import stepper
from .synthetic import forum

THEMES = tuple(name for name in BUILTIN_THEMES if not name.startswith("ansi"))
"""The themes with known colors; the terminal defines those of the others."""


def of(segments: list[Segment]) -> Iterator[tuple[float, Segment]]:
    """The contrast of each segment that has text."""
    for segment in segments:
        style = segment.style
        if segment.text.strip() and style is not None and style.color is not None and style.bgcolor is not None:
            assert not style.dim, segment
            assert not style.reverse, segment
            yield contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor()), segment


def test_contrast_matches_wcag() -> None:
    black, white, gray = (Color.parse(name).get_truecolor() for name in ("#000000", "#ffffff", "#767676"))
    assert contrast(black, white) == 21
    assert contrast(white, white) == 1
    assert round(contrast(gray, white), 2) == 4.54


@pytest.mark.parametrize("color", ["#000000", "#ffffff", "#777777", "#ffd700", "#0000ff"])
@pytest.mark.parametrize("background", ["#000000", "#ffffff", "#777777", "#ffd700", "#0000ff"])
def test_any_color_can_be_made_readable(color: str, background: str) -> None:
    before, behind = Color.parse(color).get_truecolor(), Color.parse(background).get_truecolor()
    for made in (readable(before, behind), muted(before, behind)):
        assert contrast(made, behind) >= LEAST
    if contrast(before, behind) >= LEAST:
        assert readable(before, behind) == before, "what can be read stays as it is"


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("presenting", [False, True])
def test_every_role_is_readable_on_every_background(name: str, presenting: bool) -> None:
    palette = Palette(BUILTIN_THEMES[name].to_color_system().generate(), contrast=presenting)
    backgrounds = {"base": palette.base, "bar": palette.bar, "shade": palette.base + palette.shade,
                   "highlight": palette.base + palette.highlight}  # fmt: skip
    for where, base in backgrounds.items():
        for role in [*ROLES, *(f"new:{role}" for role in ROLES)]:
            for found, _ in of(Readable().apply(palette.segments(line(("text", role)), 6, base), BLACK)):
                assert found >= LEAST, (name, where, role, found)


def test_no_color_keeps_dim_text_dim() -> None:
    palette = Palette(BUILTIN_THEMES["textual-dark"].to_color_system().generate(), no_color=True)
    (segment,) = palette.segments(line(("text", "dim")), 4, palette.base)
    assert segment.style.dim


@pytest.mark.parametrize("style", ["blue on #ffffff", "#fafafa on default", "dim #808080", "bold"])
def test_terminal_colors_are_unchanged(style: str) -> None:
    segment = Segment("text", Style.parse(style))
    assert Readable().apply([segment], BLACK) == [segment]


async def test_all_text_on_the_screen_has_enough_contrast() -> None:
    """This covers the stepper, its help, its input line and the command palette in every theme."""
    screens = {"stepper": (), "help": ("question_mark",), "prompt": ("escape", "slash"),
               "palette": ("escape", "ctrl+p")}  # fmt: skip
    async with stepper(forum(), size=(100, 30)) as reader:
        for what, keys in screens.items():
            await reader.press(*keys)
            for name in some(THEMES, 5):
                reader.app.theme = name
                await reader.answered()
                for text in reader.app.screen._compositor.render_strips():
                    for found, segment in of(list(text)):
                        assert found >= LEAST, (name, what, segment.text, found)


def test_themes_in_the_terminals_own_colors_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TerminalApp.__new__(TerminalApp)
    monkeypatch.setattr(TerminalApp, "available_themes", BUILTIN_THEMES)
    monkeypatch.setattr(KeptThemes, "app", app)
    assert [name for name, _ in KeptThemes.__new__(KeptThemes).commands] == sorted(THEMES)
