"""Assertions about a trace, for tests of programs, of operators and of dispatchviz itself.

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
    from dispatchviz.testing.accumulation import no_copy_in_accumulate
    from dispatchviz.testing.expectations import (
        assert_at_most,
        assert_count,
        assert_never,
        assert_same,
        assert_sequence,
        assert_subsequence,
        redispatches_to,
    )
    from dispatchviz.testing.golden_log import assert_golden
    from dispatchviz.testing.kernel_runs import assert_kernel_ran
    from dispatchviz.testing.patterns import (
        Pattern,
        accumulated,
        call,
        event,
        hook_ran,
        kernel,
        node_created,
        node_ran,
        redispatch,
    )
    from dispatchviz.testing.saved_memory import saved_bytes
    from dispatchviz.testing.trace_texts import graph, hook_order, keys, node_order, saved

__all__ = [
    "Pattern",
    "accumulated",
    "assert_at_most",
    "assert_count",
    "assert_golden",
    "assert_kernel_ran",
    "assert_never",
    "assert_same",
    "assert_sequence",
    "assert_subsequence",
    "call",
    "event",
    "graph",
    "hook_order",
    "hook_ran",
    "kernel",
    "keys",
    "no_copy_in_accumulate",
    "node_created",
    "node_order",
    "node_ran",
    "redispatch",
    "redispatches_to",
    "saved",
    "saved_bytes",
]

_ELSEWHERE = {
    "accumulation": ("no_copy_in_accumulate",),
    "golden_log": ("assert_golden",),
    "kernel_runs": ("assert_kernel_ran",),
    "patterns": (
        "Pattern",
        "accumulated",
        "call",
        "event",
        "hook_ran",
        "kernel",
        "node_created",
        "node_ran",
        "redispatch",
    ),
    "saved_memory": ("saved_bytes",),
    "trace_texts": ("graph", "hook_order", "keys", "node_order", "saved"),
}
"""Names by their module; all others are in ``expectations``."""

_HOME = {name: module for module, names in _ELSEWHERE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"dispatchviz.testing.{_HOME.get(name, 'expectations')}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
