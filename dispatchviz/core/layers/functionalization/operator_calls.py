"""C++-style calls of operators that are known by name only (``at::_ops::X::call``)."""

from __future__ import annotations

from functools import cache
from typing import Any

from dispatchviz.core.call import dispatcher
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.registry import process


@cache
def operator(name: str) -> OperatorEntry:
    """Return the process's operator ``aten::<name>``. Raise RuntimeError if there is none."""
    return process.find(f"aten::{name}")


def call(name: str, *args: Any) -> Any:
    """Call an operator by a full dispatch, with all schema arguments in order."""
    op = operator(name)
    function, ks = dispatcher.call(op, dispatcher.boxed_keys(op, args))
    return function(ks, *args)
