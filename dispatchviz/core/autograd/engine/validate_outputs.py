"""``validate_outputs``: a Node's gradients, checked and fitted to the input metadata of the next Nodes
(``engine.cpp``).

This is where a broadcast is undone: formulas return full-size gradients.

NB: in PyTorch, layouts are compared too, and the expected dtype of a leaf can be changed (``grad_dtype``).
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.sum_to_size import is_expandable_to, sum_to
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.input_metadata import InputMetadata
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor


def validate_outputs(edges: Sequence[Edge], grads: Gradients, node: Node | None) -> None:
    """Fit each gradient in ``grads`` to the input to which its edge leads. Empty edges and undefined gradients are
    skipped.

    ``node`` returned them; None for the gradients of the roots. Raise RuntimeError if they do not fit.
    """
    if len(grads) != len(edges):
        raise _invalid(node, f"invalid number of gradients - expected {len(edges)}, but got {len(grads)}")
    for index, edge in enumerate(edges):
        target, grad = edge.function, grads[index]
        if target is None or grad is None:
            continue
        wanted = target.input_metadata[edge.input_nr]
        if grad._dtype is not wanted.dtype or grad._device is not wanted.device or grad._size != wanted.size:
            return _fit(edges, grads, node)
    return None


def _fit(edges: Sequence[Edge], grads: Gradients, node: Node | None) -> None:
    for index, edge in enumerate(edges):
        grad = grads[index]
        if edge.function is not None and grad is not None:
            grads[index] = _fitted(grad, edge.function.input_metadata[edge.input_nr], index, node)


def _fitted(grad: Tensor, wanted: InputMetadata, index: int, node: Node | None) -> Tensor:
    if wanted.is_undefined:
        return grad
    grad = _maybe_reduced(grad, wanted, index, node)
    _check_complex(grad, wanted)
    if grad._dtype is not wanted.dtype:
        grad = ops.to_dtype.call(grad, wanted.dtype, False, False, None)
    if grad._device != wanted.device:
        if grad._size:
            expected = f"expected device {wanted.device} but got {grad._device}"
            raise _invalid(node, f"invalid gradient at index {index} - {expected}")
        grad = ops.to_dtype_layout.call(grad, None, None, wanted.device, None, False, False, None)
    return grad


def _maybe_reduced(grad: Tensor, wanted: InputMetadata, index: int, node: Node | None) -> Tensor:
    if grad._size == wanted.size:
        return grad
    if not is_expandable_to(wanted.size, grad._size):
        expected = f"got {list(grad._size)} but expected shape compatible with {list(wanted.size)}"
        raise _invalid(node, f"invalid gradient at index {index} - {expected}")
    reduced = sum_to(grad, wanted.size)
    if recorder.active is not None:
        recorder.active.gradient_reduced(grad, reduced, wanted.size)
    return reduced


def _check_complex(grad: Tensor, wanted: InputMetadata) -> None:
    """Refuse a complex gradient for a real input. A real floating-point one for a complex input passes."""
    if not grad._dtype.is_floating_point and grad._dtype.is_complex != wanted.dtype.is_complex:
        raise RuntimeError(
            "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
            "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )


def _invalid(node: Node | None, what: str) -> RuntimeError:
    return RuntimeError(what if node is None else f"Function {type(node).name(node)} returned an {what}")
