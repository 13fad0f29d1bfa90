"""The styles of the roles of text, by the theme that the reader chose.

A state is never shown by its color alone. It also has a sign or a weight, so NO_COLOR loses nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, NoColor
from textual.strip import Strip

from dispatchviz.tui.terminal.contrast import muted, readable
from dispatchviz.views.text.line_fitting import fit
from dispatchviz.views.text.roles import ROLES
from dispatchviz.views.text.styled_line import Line, Span, of_spans

NOTHING = Line()

STRIPS = 2_000
"""The number of strips to keep: those of some screens."""


class Palette:
    """The styles of roles under one theme. If ``contrast`` is true, nothing is dim, so that a projector shows it."""

    def __init__(self, theme: Mapping[str, str], no_color: bool = False, contrast: bool = False) -> None:
        looks = {role: (color, weight.replace("dim", "").strip() if contrast else weight)
                 for role, (color, weight) in ROLES.items()}  # fmt: skip
        self._styles = {role: _style(theme, *look) for role, look in looks.items()}
        foreground = _color(theme["foreground"])
        self.base = Style(color=foreground, bgcolor=_color(theme["background"]))
        """The base style of the panes."""
        self.bar = Style(color=foreground, bgcolor=_color(theme["panel"]))
        """The base style of header and footer."""
        self.shade = Style() if no_color else Style(bgcolor=_color(theme["primary-muted"]))
        """The style for related rows of other panes."""
        self.highlight = Style(bold=True, reverse=True if no_color else None) + self.shade
        """The style for the row of the cursor."""
        self._styles["large"] += self.highlight  # the band of an answer
        bold = Style(bold=True, dim=False)
        self._styles |= {f"new:{role}": style + bold for role, style in self._styles.items()}
        self._over: dict[Style, Mapping[str, Style]] = {}
        self._strip = functools.lru_cache(STRIPS)(self._made)

    def strip(self, row: Line, width: int, base: Style, behind: Line = NOTHING) -> Strip:
        """The row as a strip of exactly that width, over the style ``base``, with a text ``behind`` it in the style of
        the panes.

        The same text gets the same strip, for which Textual keeps the filtered and the printed form.
        """
        return self._strip(row.spans, width, base, behind.spans)

    def _made(self, row: tuple[Span, ...], width: int, base: Style, behind: tuple[Span, ...]) -> Strip:
        after = of_spans(behind)
        segments = self.segments(of_spans(row), width, base)
        return Strip([*segments, *self.segments(after, after.width, self.base)], width + after.width)

    def segments(self, row: Line, width: int, base: Style) -> list[Segment]:
        """The row as segments that fill exactly that width, over the style ``base``."""
        row = fit(row, width)
        styles = self._over.get(base) or self._laid_over(base)
        segments = [Segment(text, styles[role]) for text, role in row.spans]
        if blanks := width - row.width:
            segments.append(Segment(" " * blanks, base))
        return segments

    def _laid_over(self, base: Style) -> Mapping[str, Style]:
        """The styles of all roles over a base style, computed once instead of for each text."""
        styles = self._over[base] = {role: base + style for role, style in self._styles.items()}
        return styles


class Uncolored(LineFilter):
    """A filter that removes all colors for NO_COLOR. A selected row, which Textual shows only by its background, is
    reversed instead.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and _uncolored(style), control) for text, style, control in segments]


@functools.lru_cache(1024)
def _uncolored(style: Style) -> Style:
    background = style.bgcolor
    stands_out = background is not None and Color.from_rich_color(background).brightness > BRIGHT
    return style + NoColor.DEFAULT_COLORS + Style(reverse=True if stands_out else None)


class Readable(LineFilter):
    """A filter that gives all text enough contrast in any theme. Dim text becomes a weaker color, which looks the same
    in every terminal.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and _readable(style), control) for text, style, control in segments]


@functools.lru_cache(4096)
def _readable(style: Style) -> Style:
    """The style with enough contrast, as far as its colors are known."""
    if style.color is None or style.bgcolor is None or not (style.color.triplet and style.bgcolor.triplet):
        return style
    color = (muted if style.dim else readable)(style.color.triplet, style.bgcolor.triplet)
    return style + Style(color=RichColor.from_triplet(color), dim=False)


BRIGHT = 0.25
"""The brightness from which on a background is a selection, not a surface of the dark theme."""


def _style(theme: Mapping[str, str], color: str, weight: str) -> Style:
    return Style.parse(weight or "none") + Style(color=_color(theme[color]) if color else None)


def _color(name: str) -> RichColor:
    """Convert a color of a theme. A color that the terminal defines loses its opacity (``ansi_blue 50%``)."""
    return Color.parse(name.split()[0]).rich_color
