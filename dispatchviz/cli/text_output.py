"""What ``run`` and ``open`` print instead of opening the stepper, if a view or a part of the log is asked for."""

from __future__ import annotations

from typing import Any

from dispatchviz.cli.input_source import check_alone
from dispatchviz.core.record.trace_file import Trace


class Text:
    """A view of a step, or a part of the log. DispatchvizError if both are asked for, or there is no such view.

    ``as_json`` is the view as JSON, or all of the step.
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
        """True if any of it is asked for."""
        return self._view is not None or bool(self._log) or self._as_json

    def print(self, trace: Trace, step: int | None) -> None:
        """Print it. DispatchvizError if nothing of it is there."""
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
"""The option of each part of a ``LogFilter``."""
