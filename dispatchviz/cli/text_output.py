"""What ``run`` and ``open`` print instead of opening the stepper, if a view or a part of the log is asked for."""

from __future__ import annotations

from typing import Any

from dispatchviz.cli.input_source import check_alone
from dispatchviz.core.record.trace_file import Trace


class Text:
    """A view of a step, or a part of the log. DispatchvizError if both are asked for, or there is no such view."""

    def __init__(self, view: str | None, log: dict[str, Any], pager: bool) -> None:
        self._view, self._log, self._pager = view, log, pager
        if view is not None:
            from dispatchviz.plain_views import check_view

            check_view(view)
            check_alone("--view", [OPTIONS[name] for name in log])

    @property
    def wanted(self) -> bool:
        """Whether either is asked for."""
        return self._view is not None or bool(self._log)

    def print(self, trace: Trace, step: int | None) -> None:
        """Prints it. DispatchvizError if nothing of it is there."""
        if self._view is not None:
            from dispatchviz.plain_views import print_view

            print_view(trace, step, self._view, self._pager)
        else:
            from dispatchviz.render.log.log_filter import LogFilter
            from dispatchviz.render.log.printed_log import print_log

            print_log(trace, step or 0, LogFilter(**self._log), self._pager)


OPTIONS = {"level": "--level", "line": "--line", "operator": "--op", "backward": "--no-backward"}
"""The option of each part of a ``LogFilter``."""
