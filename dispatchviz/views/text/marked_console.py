"""The output of commands on a screen: ``table``, ``why`` and ``codegen`` in the roles of the palette."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.views.text.console import Console
from dispatchviz.views.text.styled_line import Span

BEGIN, STYLE_END, END = "\ue000", "\ue001", "\ue002"
"""The marks of styles in a line: the first mark, the names of the styles, the second mark, the text, the end mark. They
do not occur in texts.
"""

ROLES = {
    "bold": "bold",
    "dim": "dim",
    "cyan": "name",
    "cyan bold": "code.keyword",
    "green": "code.string",
    "yellow": "code.number",
}
"""The roles that show the styles of a terminal's text."""


class MarkedConsole(Console):
    """A console that writes styles as marks, which ``spans`` turns into roles."""

    def __init__(self, width: int) -> None:
        super().__init__(width, colors=True)

    def styled(self, text: str, *styles: str) -> str:
        return f"{BEGIN}{' '.join(styles)}{STYLE_END}{text}{END}" if styles and text else text


def spans(text: str) -> Iterator[Span]:
    """Yield the parts of a marked line with their roles."""
    before, *marked = text.split(BEGIN)
    yield before, ""
    for part in marked:
        style, _, rest = part.partition(STYLE_END)
        inside, _, after = rest.partition(END)
        yield inside, ROLES.get(style, "")
        yield after, ""
