"""``torch.autograd.profiler``: names for parts of a program, and a profiler that counts calls.

NB: in PyTorch, the profiler measures times (``function_events.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.function_events import Collector
from dispatchviz.torch.autograd.function_events import EventList as EventList
from dispatchviz.torch.autograd.function_events import FunctionEvent as FunctionEvent
from dispatchviz.torch.autograd.function_events import FunctionEventAvg as FunctionEventAvg


class record_function(ContextDecorator):
    """A named range around a block, by two operators that a dispatch mode intercepts."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> Any:
        for collector in Collector.running:
            collector.named(self.name)
        self.record = torch.ops.profiler._record_function_enter_new(self.name, self.args)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.profiler._record_function_exit._RecordFunction(self.record)


COMMON_OPTIONS = frozenset(
    ("acc_events", "custom_trace_id_callback", "experimental_config", "post_processing_timeout_s", "profile_memory")
) | {"record_shapes", "with_flops", "with_modules", "with_stack"}
"""The options of both profilers, which change nothing here."""
_OPTIONS = COMMON_OPTIONS | {"activity_filters", "use_cpu", "use_device", "use_kineto"}
_WITH_MODULES = (
    "with_modules is deprecated and will be removed in a future release. It only collects data for TorchScript models, "
    "which are themselves deprecated, and does nothing in eager mode. Use with_stack=True, which records nn.Module "
    "events for eager models."
)


def check_options(options: dict[str, Any], known: frozenset[str]) -> None:
    """Raise TypeError for an unknown option. Warn of a deprecated one."""
    for name in options:
        if name not in known:
            raise TypeError(f"profile.__init__() got an unexpected keyword argument '{name}'")
    if options.get("with_modules"):
        warnings.warn(_WITH_MODULES, FutureWarning, stacklevel=3)


class profile:
    """Count the calls in a block: ``with profile() as p:``. Raise RuntimeError if entered twice, or queried while it
    runs.
    """

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        check_options(options, _OPTIONS)
        self.enabled = enabled
        self.entered = False
        self.function_events: EventList | None = None
        self._collector = Collector()

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._collector.start()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if self.enabled:
            self.function_events = self._collector.stop()

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Return one entry for each name. NB: the parameters change nothing, because only calls are counted."""
        return self._events().key_averages()

    def total_average(self) -> FunctionEventAvg:
        """Return one entry for all calls together."""
        return self._events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return a table with a line for every call."""
        return self._events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the order of calls to a file for trace viewers."""
        self._events().export_chrome_trace(path)

    self_cpu_time_total = 0.0

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)


@contextmanager
def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> Iterator[None]:
    """Do nothing: no NVTX is attached."""
    yield


emit_itt = emit_nvtx
