"""The text that ``run`` and ``open`` print instead of opening the stepper."""

from __future__ import annotations

from typing import Any

from dispatchviz.cli.input_source import check_alone
from dispatchviz.core.record.trace_file import Trace


class Text:
    """A view of a step, or a part of the log. Raise DispatchvizError if both are wanted, or the view does not exist.

    ``as_json`` gives the view as JSON, or all of the step.
    """

    def __init__(self, view: str | None, log: dict[str, Any], pager: bool, as_json: bool = False) -> None:
        self._view, self._log, self._pager, self._as_json = view, log, pager, as_json
        if as_json:
            check_alone("--json", [OPTIONS[name] for name in log])
        if view is not None:
            from dispatchviz.outputs.step.step_text import check_view

            check_view(view)
            check_alone("--view", [OPTIONS[name] for name in log])

    @property
    def wanted(self) -> bool:
        """True if a view, a part of the log or JSON is wanted."""
        return self._view is not None or bool(self._log) or self._as_json

    def print(self, trace: Trace, step: int | None) -> None:
        """Print it. Raise DispatchvizError if there is nothing to print."""
        if self._as_json:
            from dispatchviz.outputs.step.step_json import print_json

            print_json(trace, step, self._view)
        elif self._view is not None:
            from dispatchviz.outputs.step.step_text import print_view

            print_view(trace, step, self._view, self._pager)
        else:
            from dispatchviz.outputs.log.log_filter import LogFilter
            from dispatchviz.outputs.log.printed_log import print_log

            print_log(trace, step or 0, LogFilter(**self._log), self._pager)


OPTIONS = {"level": "--level", "line": "--line", "operator": "--op", "backward": "--no-backward"}
"""The option for each field of a ``LogFilter``."""
