"""``torch.fx``: the marks that libraries put on functions for tracing (``torch/fx/_symbolic_trace.py``).

NB: the model does not trace programs into graphs of Python calls.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from dispatchviz.torch.missing_names import stub as _stub

_T = TypeVar("_T")


class Proxy:
    """The class of values during tracing, for annotations. It has no instances."""


class Node:
    """The class of steps of a graph, for annotations. It has no instances."""


class Graph:
    """The class of graphs, for annotations. It has no instances."""


class GraphModule:
    """The class of modules made from graphs, for annotations. It has no instances."""


def wrap(fn_or_name: _T) -> _T:
    """Return the argument, a function or a function's name. Raise RuntimeError for others."""
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise RuntimeError(
            f"Unsupported type for global function! Must be either a callable or string name, got {type(fn_or_name)}"
        )
    return fn_or_name


@_stub
def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        "dispatchviz's model of PyTorch has no torch.fx, because it records no graphs of Python calls"
    )
