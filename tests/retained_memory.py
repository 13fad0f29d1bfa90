"""The bytes that a recorder keeps: everything reachable from it, counted without a clock and without the system."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from dispatchviz import record
from dispatchviz.core.record.builders import numbers
from dispatchviz.core.record.trace_file import nesting, writers
from dispatchviz.core.seam import recorder
from dispatchviz.live import tensor_numbers
from dispatchviz.running import variable_names
from dispatchviz.running.recording import EngineName

_OTHERS = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType)
"""The types that are not followed, because the whole process can be reached from them."""


def growth_per_event(
    iteration: Callable[[], None], engine: EngineName, save: Any, small: pytest.MonkeyPatch, count: int
) -> float:
    """Return the bytes by which a recording to a file grows with each event of a loop. Tables with a bound get a small
    one.
    """
    small.setattr(numbers, "MOST", 16)
    for module in (variable_names, tensor_numbers):
        small.setattr(module, "MANY", 16)
    small.setattr(nesting, "CARRIED", 64)
    small.setattr(writers, "EVENTS_PER_PART", 512)
    with record(save=save, engine=engine, limit="none"):
        source: Any = recorder.listening
        before = _retained(source, iteration, count)
        after = _retained(source, iteration, 4 * count)
    return (after[0] - before[0]) / (after[1] - before[1])


def _retained(source: Any, iteration: Callable[[], None], count: int) -> tuple[int, int]:
    """Return the bytes and the events so far, after ``count`` iterations."""
    for _ in range(count):
        iteration()
    gc.collect()
    source.settle()
    return _size(source), source.stream.events


def _size(root: Any) -> int:
    others = [root.stream._writer._columns]  # those of the events since the last part of the index
    seen, waiting = {id(one): one for one in (root, *others)}, [root]
    while waiting:
        for one in gc.get_referents(waiting.pop()):
            if id(one) not in seen and not isinstance(one, _OTHERS):
                seen[id(one)] = one
                waiting.append(one)
    return sum(map(sys.getsizeof, seen.values()))
