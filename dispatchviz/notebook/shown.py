"""The output of a cell, in every form that a front end may want."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from dispatchviz.cli.fast_commands import FAST_COMMANDS
from dispatchviz.cli.looked_up import look_up
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.cell.html import block
from dispatchviz.outputs.cell.trace_card import trace_html, trace_markdown, trace_svg, trace_text
from dispatchviz.outputs.hand_out.marks import fenced
from dispatchviz.outputs.page.in_notebook import notebook_player
from dispatchviz.views.text.console import Console

WIDTH = 110
"""The width of a text in columns."""


class Shown(Struct, frozen=True):
    """A value in each of its forms."""

    text: str
    html: str
    markdown: str
    svg: str | None = None

    @classmethod
    def of_trace(cls, trace: Trace, level: str, picture: bool) -> Shown:
        """Show a trace with the part of its log that a level includes, and the backward graph."""
        drawn = trace_svg(trace) if picture else None
        return cls(
            trace_text(trace),
            trace_html(trace, level, picture, notebook_player(trace)),
            trace_markdown(trace, level),
            drawn,
        )

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> Shown:
        """Show a text."""
        kept = list(lines)
        return cls("\n".join(kept), block(kept), "\n".join(fenced("\n".join(kept))))

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_svg_(self) -> str | None:
        return self.svg


def looked_up(line: str) -> Shown:
    """Show the output of ``table``, ``why``, ``keys`` or ``codegen``. Raise IPython's UsageError for words that are not
    understood.
    """
    command, _, typed = line.strip().partition(" ")
    try:
        if command not in FAST_COMMANDS:
            raise DispatchvizError(f"%dispatchviz needs one of {', '.join(FAST_COMMANDS)}")
        return Shown.of_lines(look_up(command, typed.strip())(Console(WIDTH, colors=False)))
    except DispatchvizError as error:
        from IPython.core.error import UsageError

        raise UsageError(str(error)) from None
