"""The texts of commands on a screen: what ``table``, ``why`` and ``codegen`` print, in the roles of the palette."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.views.text.console import Console
from dispatchviz.views.text.styled_line import Span

BEGIN, STYLE_END, END = "\ue000", "\ue001", "\ue002"
"""Marks in a line: a style begins with its name, then the text, then the end. Nothing in the code has them."""

ROLES = {
    "bold": "bold",
    "dim": "dim",
    "cyan": "name",
    "cyan bold": "code.keyword",
    "green": "code.string",
    "yellow": "code.number",
}
"""Styles of a terminal's text and the roles that show them here."""


class MarkedConsole(Console):
    """Writes styles as marks, from which ``spans`` makes roles."""

    def __init__(self, width: int) -> None:
        super().__init__(width, colors=True)

    def styled(self, text: str, *styles: str) -> str:
        return f"{BEGIN}{' '.join(styles)}{STYLE_END}{text}{END}" if styles and text else text


def spans(text: str) -> Iterator[Span]:
    """The parts of a marked line with their roles."""
    before, *marked = text.split(BEGIN)
    yield before, ""
    for part in marked:
        style, _, rest = part.partition(STYLE_END)
        inside, _, after = rest.partition(END)
        yield inside, ROLES.get(style, "")
        yield after, ""
