"""The choice of the steps of a trace that a log or a hand-out contains."""

from __future__ import annotations

import re

from msgspec import Struct

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import numbers_of_steps
from dispatchviz.foundation.errors import DispatchvizError

RANGE = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


class Steps(Struct, frozen=True):
    """The requested steps, and how much of each is shown."""

    steps: str | None = None
    """``45`` or ``45-80``."""
    level: str | None = None
    views: tuple[str, ...] = ()

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        values = {"--steps": self.steps, "--level": self.level, "--view": self.views}
        return [option for option, value in values.items() if value]

    def check(self) -> None:
        """Raise DispatchvizError if the range cannot be read or if a view does not exist."""
        if self.steps is not None and RANGE.fullmatch(self.steps) is None:
            raise DispatchvizError(f"--steps {self.steps}: write a step such as 45, or 45-80")
        if self.views:
            from dispatchviz.outputs.step.step_text import check_view  # imports every view

            for view in self.views:
                check_view(view)

    def range(self, trace: Trace) -> range:
        """Return the requested steps that the trace has. Raise DispatchvizError if it has none of them."""
        if self.steps is None:
            return range(len(trace))
        match = RANGE.fullmatch(self.steps)
        assert match is not None
        first = int(match["first"])
        chosen = range(first, min(int(match["last"] or first) + 1, len(trace)))
        if not chosen:
            raise DispatchvizError(
                f"--steps {self.steps}: the steps of {trace.header.program} are {numbers_of_steps(len(trace))}"
            )
        return chosen
