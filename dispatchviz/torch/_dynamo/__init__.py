"""``torch._dynamo``: functions of the compiler, which the model does not have (``torch/_dynamo/__init__.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._dynamo import config as config
from dispatchviz.torch.compiler import allow_in_graph as allow_in_graph
from dispatchviz.torch.compiler import assume_constant_result as assume_constant_result
from dispatchviz.torch.compiler import disable as disable
from dispatchviz.torch.compiler import is_compiling as is_compiling
from dispatchviz.torch.compiler import reset as reset
from dispatchviz.torch.compiler import set_stance as set_stance


def graph_break(msg: str = "") -> None:
    """Do nothing: there is no graph to break."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Do nothing: no compiler reads the marked sizes."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: no compiler reads the marked sizes."""
