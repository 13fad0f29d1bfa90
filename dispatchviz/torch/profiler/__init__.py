"""``torch.profiler``: the operators that a program calls, step by step (``torch/profiler/profiler.py``).

NB: calls are counted. Times, memory, stacks and shapes are never measured, even if requested.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any

from dispatchviz.torch.autograd.function_events import Collector, EventList
from dispatchviz.torch.autograd.profiler import COMMON_OPTIONS, check_options
from dispatchviz.torch.autograd.profiler import record_function as record_function


class ProfilerActivity(IntEnum):
    """The kinds of activity that PyTorch's profiler records."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """The action of a profiler step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
Schedule = Callable[[int], ProfilerAction]


def supported_activities() -> set[ProfilerActivity]:
    """Return CPU and CUDA."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Return a schedule with cycles of waiting, warming up and recording. Raise AssertionError for negative numbers,
    and for no active step.
    """

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step / length >= repeat:
            return ProfilerAction.NONE
        position = step % length
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < length - 1 else ProfilerAction.RECORD_AND_SAVE

    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    return action_of


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """Return a function for ``on_trace_ready`` that writes a file for every cycle."""

    def handle(profiler: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"worker_{os.getpid()}"
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handle


def _parse_activities(activities: Iterable[Any]) -> set[ProfilerActivity]:
    """Return the kinds of activity. Raise TypeError for other values, ValueError for a kind that comes twice,
    AssertionError for none.
    """
    found: set[ProfilerActivity] = set()
    for item in activities:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in item if isinstance(item, dict) else (item,):
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
    if not found:
        raise AssertionError("No valid profiler activities found")
    return found


class profile:
    """Record steps: ``with profile(schedule=...) as p:`` with ``p.step()`` after every step. Without a schedule, record
    all.

    ``on_trace_ready(p)`` is called at the end of each cycle. Raise RuntimeError for results that do not exist yet.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        check_options(options, COMMON_OPTIONS | {"execution_trace_observer"})
        self.activities = supported_activities() if activities is None else _parse_activities(activities)
        self.schedule: Schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._step_name: record_function | None = None
        self._collector: Collector | None = None
        self._found: EventList | None = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        if self.current_action in _RECORDING:
            self._listen()
        self._name_step()

    def stop(self) -> None:
        """End the last step."""
        self._leave_step()
        if self.current_action in _RECORDING:
            self._end()
            self._ready()

    def step(self) -> None:
        """Begin the next step."""
        self._leave_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._end()
            self._ready()
        elif before is ProfilerAction.RECORD and self.current_action not in _RECORDING:
            warnings.warn(f"Incorrect schedule: RECORD followed by {self.current_action.name}", stacklevel=2)
            self._end()
        if self.current_action in _RECORDING and self._collector is None:
            self._listen()
        self._name_step()

    def _name_step(self) -> None:
        if self.record_steps:
            self._step_name = record_function(f"ProfilerStep#{self.step_num}")
            self._step_name.__enter__()

    def _leave_step(self) -> None:
        if self._step_name is not None:
            self._step_name.__exit__(None, None, None)
            self._step_name = None

    def _listen(self) -> None:
        self._collector = Collector()
        self._collector.start()

    def _end(self) -> None:
        if self._collector is not None:
            self._found = self._collector.stop()
            self._collector = None

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self) -> EventList:
        """Return every call of the last cycle."""
        if self._found is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return self._found

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Return one entry for each name. NB: the parameters change nothing, because only calls are counted."""
        return self.events().key_averages()

    def export_chrome_trace(self, path: str) -> None:
        """Write the order of calls to a file for trace viewers."""
        self.events().export_chrome_trace(path)

    def add_metadata(self, key: str, value: str) -> None:
        """Do nothing: no file stores metadata."""

    add_metadata_json = preset_metadata_json = add_metadata
