"""The gradient of ``_weight_norm_interface`` (``derivatives.yaml`` chooses there by grad mode)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread


def weight_norm_interface_backward(
    grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Gradients of v and g, by one kernel or by operators that have derivatives."""
    one_kernel, operators = ops._weight_norm_interface_backward, ops._weight_norm_differentiable_backward
    function = operators if thread.state.grad_mode else one_kernel
    return function.call(in_format(grad), v, g, norms, dim)
