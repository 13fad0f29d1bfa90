"""Expectations over a trace, for tests of programs, of operators, of dispatchviz itself.

    from dispatchviz.testing import assert_subsequence, call, kernel, redispatch

    def test_add(dispatch_trace):
        torch.add(x, y)
        add = "aten::add.Tensor"
        assert_subsequence(dispatch_trace, [call(add, "AutogradCUDA"), redispatch(add, "CUDA")])

The fixture ``dispatch_trace`` comes with the package's pytest plugin; nothing has to be configured. Importing this
module loads nothing: pytest does it in every run of every project that has dispatchviz installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatchviz.testing.expectations import (
        assert_count,
        assert_kernel_ran,
        assert_never,
        assert_same,
        assert_sequence,
        assert_subsequence,
    )
    from dispatchviz.testing.patterns import Pattern, call, event, kernel, node_created, node_ran, redispatch

_EXPECTATIONS = (
    "assert_count",
    "assert_kernel_ran",
    "assert_never",
    "assert_same",
    "assert_sequence",
    "assert_subsequence",
)
_PATTERNS = ("Pattern", "call", "event", "kernel", "node_created", "node_ran", "redispatch")

__all__ = [
    "Pattern",
    "assert_count",
    "assert_kernel_ran",
    "assert_never",
    "assert_same",
    "assert_sequence",
    "assert_subsequence",
    "call",
    "event",
    "kernel",
    "node_created",
    "node_ran",
    "redispatch",
]


def __getattr__(name: str) -> Any:
    if name in _EXPECTATIONS:
        return getattr(importlib.import_module("dispatchviz.testing.expectations"), name)
    if name in _PATTERNS:
        return getattr(importlib.import_module("dispatchviz.testing.patterns"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
