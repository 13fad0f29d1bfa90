"""Events of the Python bindings, which parse the arguments of a call."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Container
from dispatchviz.core.record.events.field_types import Count


class BindingEntered(Container, frozen=True):
    """A Python binding was called and has parsed its arguments (``torch/csrc/utils/python_arg_parser.cpp``)."""

    function: str
    """The qualified name by which the user calls it: ``torch.add``, ``Tensor.sum``, ``Tensor.__add__``."""
    pytorch_function: str
    """Its C++ function: ``THPVariable_add`` (``torch/csrc/autograd/generated/python_*.cpp``)."""
    signature: str
    """The signature that matched, in PyTorch's own notation: ``add(Tensor input, Tensor other, *, Number alpha = 1)``.
    """
    signatures_tried: Count
    """Number of signatures that the parser compared with the arguments, in order. The last one is the one that
    matched.
    """
    arguments: tuple[tuple[str, str], ...]
    """Name and value as text of each parameter of the signature. A tensor is written ``t3`` (its number). A method has
    ``self`` first.
    """
    operator: str
    """Qualified name of the operator that it calls, ``aten::add.Tensor``; empty if it calls none."""
