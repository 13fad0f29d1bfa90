"""The output of ``run`` and ``open``: text, or the stepper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dispatchviz.cli.input_source import check_step
from dispatchviz.cli.text_output import Text
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.tui.show import show
from dispatchviz.tui.terminal.support import can_run


class Shown(NamedTuple):
    """The output that the options choose."""

    text: Text
    step: int | None
    plain: bool
    pager: bool

    @property
    def is_text(self) -> bool:
        """True if the options ask for text."""
        return self.plain or self.text.wanted

    @property
    def why_no_stepper(self) -> str | None:
        """The reason why text is printed; None if the stepper opens."""
        return "text was requested" if self.is_text else can_run()

    def show(self, trace: Trace, file: str, again: Sequence[str] = (), followed: FollowedFile | None = None) -> None:
        """Show a trace. ``file`` contains it, ``again`` records it again.

        Raise DispatchvizError if it has no such step.
        """
        check_step(trace, self.step)
        if self.text.wanted:
            self.text.print(trace, self.step)
        else:
            show(trace, self.step, file, self.plain, again, followed, self.pager)
