"""``Measurement`` and its repr (``torch/utils/benchmark/utils/common.py``)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}
_MOST_FIGURES, _CONFIDENCE = 5, 0.25


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit that gives a time digits before the decimal point, and its size."""
    found = min(max(int(math.log10(t) // 3), -3), 0)
    name = {-3: "ns", -2: "us", -1: "ms", 0: "s"}[found]
    return name, _UNITS[name][1]


def unit_to_english(u: str) -> str:
    """Return the English name of a unit such as ``us``."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """Round to n significant digits. Raise AssertionError if n is not an int."""
    assert n == int(n), "n must be integral"
    if not x:
        return 0.0
    scale = 10.0 ** (n - math.floor(math.log10(abs(x))) - 1)
    return float(round(x * scale) / scale)


@dataclass(frozen=True)
class TaskSpec:
    """The description of a measured statement."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        head = "stmt:" + (f" ({self.sub_label})" if self.sub_label else "")
        return f"{head}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """Return the setup as it is printed, or an empty string."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return the title, the description and the setup."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join([f"{part}\n" if "\n" in part else part for part in parts if part])


@dataclass(eq=False, repr=False)
class Measurement:
    """The times of one statement. It also has the attributes of its ``TaskSpec``."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if (name != "task_spec" and name in TaskSpec.__dataclass_fields__) or name == "title":
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """The seconds of one execution, per run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return float(numpy.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(numpy.mean(self.times))

    @property
    def _quartiles(self) -> tuple[float, float]:
        low, high = numpy.percentile(self.times, [25, 75])
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        low, high = self._quartiles
        return high - low

    @property
    def significant_figures(self) -> int:
        """The number of significant figures of the median, from the width of a confidence interval."""
        count = len(self.raw_times)
        low = min(int(count / 4), count - 2) if count > 1 else 0
        width = max(self.iqr / max(math.sqrt(count), 1) * 1.645 * 0.93, float(numpy.finfo("float32").tiny))
        digits = math.floor(math.log10(self.median / width)) if self.median else 1
        return min(max(1, digits, low and 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """True if the variation of the times is too high."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _CONFIDENCE) -> bool:
        """Return whether the quartiles are close enough to the median."""
        return self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return str(self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]")

    def __repr__(self) -> str:
        count, unit, scale = len(self.raw_times), *select_unit(self.median)
        lines = [self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = self._quartiles
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        measured = f"{count} measurement{'s' if count > 1 else ''}"
        runs = f"{self.number_per_run} runs {'per measurement' if count > 1 else ''}"
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {measured}, {runs}, {threads}")
        if self.has_warnings:
            lines += _too_far_apart(self.iqr / self.median)
        header = f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>"
        return "\n".join([header, *lines])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement for each task, with all of its times."""
        by_task: dict[TaskSpec, list[float]] = {}
        for one in measurements:
            by_task.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, times, task) for task, times in by_task.items()]


def _too_far_apart(relative_iqr: float) -> list[str]:
    lines = [f"  WARNING: Interquartile range is {relative_iqr * 100:.1f}% of the median measurement."]
    lines.append("           This " + ("suggests significant environmental influence." if relative_iqr >= 0.25 else ""))
    return lines
