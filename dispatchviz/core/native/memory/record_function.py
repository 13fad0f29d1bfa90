"""``profiler::_record_function_*``: a name for the code that runs between two calls (``record_function_ops.cpp``).

There is no profiler here, so the names are not used. The calls are made, and a dispatch mode can observe them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.table.operator_entry import OperatorEntry


class RecordFunction:
    """An entry that has not been exited yet: the custom class ``profiler::_RecordFunction``."""

    def __init__(self, name: str, args: str | None) -> None:
        self.name = name
        self.args = args


def _record_function_enter_new(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    name, args = stack
    stack[:] = [RecordFunction(name, args)]


def _record_function_exit(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    stack.clear()


BOXED_KERNELS: dict[str, Callable[[OperatorEntry, int, list[Any]], None]] = {
    "_record_function_enter_new (record_function_ops.cpp)": _record_function_enter_new,
    "_record_function_exit__RecordFunction (record_function_ops.cpp)": _record_function_exit,
}
"""The boxed kernels by PyTorch's names."""
