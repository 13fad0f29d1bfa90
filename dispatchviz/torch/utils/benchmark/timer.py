"""Timing of a statement (``torch/utils/benchmark/utils/timer.py``)."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils.benchmark.measurement import Measurement, TaskSpec

timer = timeit.default_timer


class Language(enum.Enum):
    """The language of the statement. Only Python is supported here."""

    PYTHON = 0
    CPP = 1


class Timer:
    """A timer that runs a statement repeatedly with ``num_threads`` threads, after its setup.

    Raise ValueError for an invalid statement, NotImplementedError for one in C++.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            if language in (Language.CPP, "cpp", "c++"):
                raise NotImplementedError("dispatchviz's model of PyTorch does not run C++")
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        self._globals = {**(globals or {}), "torch": (globals or {}).get("torch", torch)}
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Measure ``number`` executions together."""
        with _threads(self._task_spec.num_threads):
            self._timer.timeit(max(int(number // 100), 2))  # to warm up
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Raise NotImplementedError, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> NoReturn:
        """Raise NotImplementedError, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks of executions, each large enough to be timed, until ``min_run_time`` has passed."""
        number = self._estimate_block_size(min_run_time)
        return self._measured(number, min_run_time, callback, lambda times: True, float("inf"))

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """Measure blocks of executions until their times are close enough to each other."""
        number = self._estimate_block_size(min_run_time)

        def is_enough(times: list[float]) -> bool:
            found = Measurement(number, times, self._task_spec)
            return len(times) > 3 and found.meets_confidence(threshold)

        return self._measured(number, min_run_time, callback, is_enough, max_run_time)

    def _measured(self, number: int, least: float, callback: Any, is_enough: Any, most: float) -> Measurement:
        times: list[float] = []
        with _threads(self._task_spec.num_threads):
            while sum(times) < least or (sum(times) < most and not is_enough(times)):
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def _estimate_block_size(self, min_run_time: float) -> int:
        """Return a block size for which the overhead of the timer is negligible."""
        with _threads(self._task_spec.num_threads):
            overhead = sorted(self._timer.timeit(0) for _ in range(5))[2]
            number = 1
            while True:
                taken = self._timer.timeit(number)
                if (
                    (taken >= min_run_time / 1000 and overhead / taken <= 1e-4)
                    or taken > min_run_time
                    or number > 10**9
                ):
                    return number
                number *= 10


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
