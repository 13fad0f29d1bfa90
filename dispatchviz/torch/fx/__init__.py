"""``torch.fx``: marks that libraries put on functions for those who trace them (``torch/fx/_symbolic_trace.py``).

NB: nothing is traced into graphs of Python calls.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

_T = TypeVar("_T")


class Proxy:
    """The class of values while tracing, for annotations: there is none."""


class Node:
    """The class of a step of a graph, for annotations: there is none."""


class Graph:
    """The class of graphs, for annotations: there is none."""


class GraphModule:
    """The class of modules made of graphs, for annotations: there is none."""


def wrap(fn_or_name: _T) -> _T:
    """The argument, a function or a function's name. RuntimeError for others."""
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise RuntimeError(
            f"Unsupported type for global function! Must be either a callable or string name, got {type(fn_or_name)}"
        )
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """NotImplementedError."""
    raise NotImplementedError("dispatchviz's model of PyTorch has no torch.fx: it makes no graphs of Python calls")
