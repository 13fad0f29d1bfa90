"""Batch rules of binary and ternary pointwise operators, ``where``, ``masked_select`` (``BatchRulesBinaryOps.cpp``).

Batch dimensions go to the front. A batched tensor of lower rank gets dimensions of size 1 after its batch dimension, so
that the physical tensors broadcast as the examples would.

Rule 1: a batched tensor whose examples are 0-dim is not 0-dim itself, but must not decide the dtype either. The dtype
is found as for the examples, and both are cast beforehand (``_handle_scalar_type_promotion``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    contiguous,
    ensure_has_bdim,
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    vmap_incompatible_inplace_error,
)
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_unary import basic_unary
from dispatchviz.core.layers.functorch.plumbing import (
    Batched,
    BatchRule,
    Kernel,
    call_operator,
    plumbed,
    plumbed_inplace,
)
from dispatchviz.core.native.iterator.tensor_iterator import result_type
from dispatchviz.core.tensor.tensor import Tensor


def aligned(*batched: Batched) -> list[Tensor]:
    """Return the physical tensors with batch dimensions in front and ranks padded to the highest."""
    rank = max(rank_without_batch_dim(*one) for one in batched)
    moved = [(move_batch_dim_to_front(tensor, bdim), bdim) for tensor, bdim in batched]
    return [maybe_pad_to_logical_rank(tensor, bdim, rank) for tensor, bdim in moved]


def binary_pointwise_helper(tensor: Batched, other: Batched, do_type_promotion: bool = True) -> tuple[Tensor, Tensor]:
    """Return the tensors as ``aligned`` does, with Rule 1 (``_binary_pointwise_helper``)."""
    ranks = rank_without_batch_dim(*tensor), rank_without_batch_dim(*other)
    moved = [move_batch_dim_to_front(*tensor), move_batch_dim_to_front(*other)]
    if do_type_promotion:
        scalar = [rank == 0 and bdim is not None for rank, (_, bdim) in zip(ranks, (tensor, other), strict=True)]
        if scalar[0] and not scalar[1]:
            moved[0], moved[1] = _handle_scalar_type_promotion(moved[0], moved[1])
        if scalar[1] and not scalar[0]:
            moved[1], moved[0] = _handle_scalar_type_promotion(moved[1], moved[0])
    first = maybe_pad_to_logical_rank(moved[0], tensor[1], max(ranks))
    return first, maybe_pad_to_logical_rank(moved[1], other[1], max(ranks))


def _handle_scalar_type_promotion(logical_scalar: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return both in the dtype that one example of the first would have with the second."""
    dtype = result_type(ops.select_int.call(logical_scalar, 0, 0), second)
    if logical_scalar._dtype is not dtype:
        logical_scalar = ops.to_dtype.call(logical_scalar, dtype, False, False, None)
    if second._dtype is not dtype:
        second = ops.to_dtype.call(second, dtype, False, False, None)
    return logical_scalar, second


# -- rules -------------------------------------------------------------------------------------------------------------


def binary_pointwise(name: str) -> BatchRule:
    """Return the rule of a binary pointwise operator (``BINARY_POINTWISE_BATCH_RULE``)."""

    def rule(tensor: Tensor, bdim: int | None, other: Tensor, other_bdim: int | None, *extra: Any) -> Batched:
        operands = binary_pointwise_helper((tensor, bdim), (other, other_bdim))
        return call_operator(find(f"aten::{name}"), (*operands, *extra)), 0

    return rule


def comparison_pointwise(name: str) -> BatchRule:
    """Return the rule of a comparison (``comparison_pointwise_batch_rule``). The result's dtype does not depend on
    ``other``, so nothing is cast.

    It is also ``masked_fill_scalar_batch_rule`` of BatchRulesScatterOps.cpp.
    """

    def rule(tensor: Tensor, bdim: int | None, other: Tensor, other_bdim: int | None, *extra: Any) -> Batched:
        operands = aligned((tensor, bdim), (other, other_bdim))
        return call_operator(find(f"aten::{name}"), (*operands, *extra)), 0

    return rule


def binary_pointwise_inplace(name: str) -> Callable[..., None]:
    """Return the rule of an in-place operator (``binary_pointwise_inplace_batch_rule``). The rule raises RuntimeError
    if only ``other`` is batched.
    """

    def rule(tensor: Tensor, bdim: int | None, other: Tensor, other_bdim: int | None, *extra: Any) -> None:
        if bdim is None and other_bdim is not None:
            vmap_incompatible_inplace_error("inplace arithmetic")
        operands = aligned((tensor, bdim), (other, other_bdim))
        call_operator(find(f"aten::{name}"), (*operands, *extra))

    return rule


def where_self(
    condition: Tensor,
    condition_bdim: int | None,
    self: Tensor,
    self_bdim: int | None,
    other: Tensor,
    other_bdim: int | None,
) -> Batched:
    """Align all three tensors."""
    operands = aligned((condition, condition_bdim), (self, self_bdim), (other, other_bdim))
    return ops.where_self.call(*operands), 0


def gelu_backward(
    grad: Tensor, grad_bdim: int | None, self: Tensor, self_bdim: int | None, approximate: str
) -> Batched:
    """Give both tensors the batch dimension, since the kernel does not broadcast."""
    size = batch_size((grad, grad_bdim), (self, self_bdim))
    first, second = binary_pointwise_helper((grad, grad_bdim), (self, self_bdim))
    first = ensure_has_bdim(first, grad_bdim is not None, size)
    return ops.gelu_backward.call(first, ensure_has_bdim(second, self_bdim is not None, size), approximate), 0


def log_sigmoid_backward(
    grad: Tensor, grad_bdim: int | None, self: Tensor, self_bdim: int | None, buffer: Tensor, buffer_bdim: int | None
) -> Batched:
    """Align all three tensors."""
    operands = aligned((grad, grad_bdim), (self, self_bdim), (buffer, buffer_bdim))
    return ops.log_sigmoid_backward.call(*operands), 0


def masked_select(self: Tensor, self_bdim: int | None, mask: Tensor, mask_bdim: int | None) -> Batched:
    """Select the same elements of each example. Raise RuntimeError if the mask is batched: examples would differ in
    size.
    """
    if mask_bdim is not None:
        _refuse_mask("masked_select(self, mask)")
    moved = move_batch_dim_to_front(self, self_bdim)
    rank = max(rank_without_batch_dim(self, self_bdim), len(mask._size))
    selected = ops.masked_select.call(maybe_pad_to_logical_rank(moved, 0, rank), mask)
    return ops.view.call(selected, (moved._size[0], -1)), 0


def masked_select_backward(
    grad: Tensor, grad_bdim: int | None, self: Tensor, self_bdim: int | None, mask: Tensor, mask_bdim: int | None
) -> Batched:
    """Give both the batch dimension. Raise RuntimeError if the mask is batched."""
    if mask_bdim is not None:
        _refuse_mask("masked_select_backward(grad, self, mask)")
    first, second = move_batch_dim_to_front(self, self_bdim), move_batch_dim_to_front(grad, grad_bdim)
    rank = max(rank_without_batch_dim(self, self_bdim), len(mask._size))
    first = maybe_pad_to_logical_rank(first, self_bdim, rank)
    size = batch_size((grad, grad_bdim), (self, self_bdim))
    first = ensure_has_bdim(first, self_bdim is not None, size)
    second = ensure_has_bdim(second, grad_bdim is not None, size)
    return ops.masked_select_backward.call(second, contiguous(first), mask), 0


def _refuse_mask(function: str) -> NoReturn:
    raise RuntimeError(
        f"vmap: Attempted to vmap over `mask` in torch.{function} We cannot support this because for "
        "each batch this would return a differently shaped Tensor. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def _cdist_backward(
    grad: Tensor,
    grad_bdim: int | None,
    x1: Tensor,
    x1_bdim: int | None,
    x2: Tensor,
    x2_bdim: int | None,
    p: float,
    cdist: Tensor,
    cdist_bdim: int | None,
) -> Batched:
    """Give the first tensor and the gradient the batch dimension if others have it."""
    if cdist_bdim is not None and x1_bdim is None:
        x1, x1_bdim = contiguous(ensure_has_bdim(x1, False, cdist._size[cdist_bdim])), 0
    first, second = binary_pointwise_helper((x1, x1_bdim), (x2, x2_bdim))
    batched = x1_bdim is not None or x2_bdim is not None
    moved = move_batch_dim_to_front(grad, grad_bdim)
    if batched and grad_bdim is None:
        moved = contiguous(ensure_has_bdim(moved, False, first._size[0]))
    return ops._cdist_backward.call(moved, first, second, p, cdist), 0 if batched else None


def fill__Tensor(self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None) -> None:
    """Fill with one value for all examples, or copy one value to each."""
    if other_bdim is None:
        ops.fill__Tensor.call(self, other)
        return
    if self_bdim is None:
        vmap_incompatible_inplace_error("fill_")
    target, source = binary_pointwise_helper((self, self_bdim), (other, other_bdim), do_type_promotion=False)
    ops.copy_.call(target, source, False)


def fill_Tensor(self: Tensor, self_bdim: int | None, value: Tensor, value_bdim: int | None) -> Batched:
    """Fill a tensor like self with one value for all examples, or copy one value to each."""
    target = move_batch_dim_to_front(self, self_bdim)
    if value_bdim is None:
        return ops.fill__Tensor.call(_empty_like(target), value), 0
    moved = move_batch_dim_to_front(value, value_bdim)
    target = _empty_like(ensure_has_bdim(target, self_bdim is not None, moved._size[0]))
    if rank := rank_without_batch_dim(value, value_bdim):
        raise RuntimeError(
            f"vmap: fill(self, value) expects `value` to be a tensor with logical rank 0, but got logical rank {rank}."
        )
    return ops.copy_.call(target, maybe_pad_to_logical_rank(moved, 0, len(target._size) - 1), False), 0


def _empty_like(tensor: Tensor) -> Tensor:
    return ops.empty_like.call(tensor, None, None, None, None, None)


def masked_fill_Tensor(
    self: Tensor, self_bdim: int | None, mask: Tensor, mask_bdim: int | None, value: Tensor, value_bdim: int | None
) -> Batched:
    """Choose between self and the value of each example if values are batched."""
    if value_bdim is None:
        target, where = aligned((self, self_bdim), (mask, mask_bdim))
        return ops.masked_fill_Tensor.call(target, where, value), 0
    value = _on_device_of(self, value)
    target, where, other = aligned((self, self_bdim), (mask, mask_bdim), (value, value_bdim))
    return ops.where_self.call(where, other, target), 0


def masked_fill__Tensor(
    self: Tensor, self_bdim: int | None, mask: Tensor, mask_bdim: int | None, value: Tensor, value_bdim: int | None
) -> None:
    """Write to self what ``masked_fill`` returns. Raise RuntimeError if only mask or value are batched."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("masked_fill_")
    if value_bdim is None:
        target, where = aligned((self, self_bdim), (mask, mask_bdim))
        ops.masked_fill__Tensor.call(target, where, value)
        return
    target, where, other = aligned((self, self_bdim), (mask, mask_bdim), (value, value_bdim))
    ops.copy_.call(target, ops.where_self.call(where, _on_device_of(target, other), target), False)


def _on_device_of(tensor: Tensor, value: Tensor) -> Tensor:
    return ops.to_device.call(value, tensor._device, tensor._dtype, False, False, None)


BINARY_POINTWISE = (
    *("bitwise_and.Tensor", "bitwise_or.Tensor"),
    *("add.Tensor", "sub.Tensor", "rsub.Tensor", "mul.Tensor", "div.Tensor", "div.Tensor_mode", "pow.Tensor_Tensor"),
    *("maximum", "minimum", "clamp_min.Tensor", "clamp_max.Tensor", "atan2", "remainder.Tensor", "xlogy.Tensor"),
    *("complex", "polar"),
    *("bitwise_xor.Tensor", "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"),
    *("__lshift__.Tensor", "__rshift__.Tensor"),
    *("threshold_backward", "tanh_backward", "sigmoid_backward", "silu_backward", "leaky_relu_backward"),
    *("hardtanh_backward", "hardswish_backward", "hardsigmoid_backward", "softshrink_backward"),
    *("hardshrink_backward", "logit_backward", "_prelu_kernel", "rrelu_with_noise", "_cdist_forward"),
    *(
        "copysign.Tensor",
        "floor_divide",
        "fmod.Tensor",
        "fmax",
        "fmin",
        "gcd",
        "lcm",
        "heaviside",
        "hypot",
        "ldexp.Tensor",
    ),
    *("igamma", "igammac", "logaddexp", "logaddexp2", "nextafter", "special_xlog1py", "special_zeta"),
)
COMPARISON_POINTWISE = (
    *("eq.Tensor", "ne.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor", "logical_and", "logical_or"),
    *("logical_xor", "masked_fill.Scalar"),
)
BINARY_POINTWISE_INPLACE = (
    *("bitwise_and_.Tensor", "bitwise_or_.Tensor", "bitwise_xor_.Tensor", "logical_xor_", "clamp_max_.Tensor"),
    *("sub_.Tensor", "mul_.Tensor", "div_.Tensor", "div_.Tensor_mode", "copy_"),
    *("logical_and_", "logical_or_", "masked_fill_.Scalar"),
)

OF_A_NUMBER = (
    *("remainder.Scalar", "xlogy.Scalar_Other", "clamp_max", "bitwise_and.Scalar", "bitwise_or.Scalar"),
    *("bitwise_xor.Scalar", "__lshift__.Scalar", "__rshift__.Scalar"),
    *(
        "bitwise_left_shift.Tensor_Scalar",
        "bitwise_right_shift.Tensor_Scalar",
        "copysign.Scalar",
        "floor_divide.Scalar",
    ),
    *("fill.Scalar", "fmod.Scalar", "special_xlog1py.other_scalar", "special_zeta.other_scalar"),
)
"""Operators whose other operand is a number. They have the rule of unary operators."""

KERNELS: dict[str, Kernel] = {
    **{name: plumbed(name, basic_unary(name)) for name in OF_A_NUMBER},
    "log_sigmoid_backward": plumbed("log_sigmoid_backward", log_sigmoid_backward),
    **{name: plumbed(name, binary_pointwise(name)) for name in BINARY_POINTWISE},
    **{name: plumbed(name, comparison_pointwise(name)) for name in COMPARISON_POINTWISE},
    **{name: plumbed_inplace(name, binary_pointwise_inplace(name)) for name in BINARY_POINTWISE_INPLACE},
    "where.self": plumbed("where.self", where_self),
    "gelu_backward": plumbed("gelu_backward", gelu_backward),
    "masked_select": plumbed("masked_select", masked_select),
    "masked_select_backward": plumbed("masked_select_backward", masked_select_backward),
    "_cdist_backward": plumbed("_cdist_backward", _cdist_backward),
    "fill.Tensor": plumbed("fill.Tensor", fill_Tensor),
    "masked_fill.Tensor": plumbed("masked_fill.Tensor", masked_fill_Tensor),
    "masked_fill_.Tensor": plumbed_inplace("masked_fill_.Tensor", masked_fill__Tensor),
    "fill_.Tensor": plumbed_inplace("fill_.Tensor", fill__Tensor),
}
"""Kernels for FuncTorchBatched. ``add_.Tensor`` is boxed."""
