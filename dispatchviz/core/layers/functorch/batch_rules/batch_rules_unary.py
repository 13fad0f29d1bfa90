"""Batch rules of unary operators, ``clone``, ``view_as_complex`` (``BatchRulesUnaryOps.cpp``,
``BatchRulesFactory.cpp``).

Most need no rule of their own: the operator runs on the physical tensor, and the batch dimension keeps its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    move_batch_dim_to_front,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.plumbing import (
    Batched,
    BatchRule,
    Kernel,
    call_operator,
    plumbed,
    plumbed_inplace,
)
from dispatchviz.core.tensor.tensor import Size, Tensor


def basic_unary(name: str) -> BatchRule:
    """Return the rule that runs the operator on the physical tensor (``BASIC_UNARY_BATCH_RULE``)."""

    def rule(tensor: Tensor, bdim: int | None, *extra: Any) -> Batched:
        return call_operator(find(f"aten::{name}"), (tensor, *extra)), bdim

    return rule


def unary_inplace(name: str) -> Callable[..., None]:
    """Return the rule that writes to the physical tensor (``unary_inplace_batch_rule``)."""

    def rule(tensor: Tensor, bdim: int | None, *extra: Any) -> None:
        call_operator(find(f"aten::{name}"), (tensor, *extra))

    return rule


def variadic_bdims(name: str) -> BatchRule:
    """Return the rule of an operator that ignores leading dimensions (``VARIADIC_BDIMS_BATCH_RULE``)."""

    def rule(tensor: Tensor, bdim: int | None, *extra: Any) -> Batched:
        return call_operator(find(f"aten::{name}"), (move_batch_dim_to_front(tensor, bdim), *extra)), 0

    return rule


def existing_bdim(name: str) -> BatchRule:
    """Return the rule of an operator that has examples itself, so that the batch becomes more of them
    (``EXISTING_BDIM_BATCH_RULE``).
    """

    def rule(tensor: Tensor, bdim: int, *extra: Any) -> Batched:
        result = call_operator(find(f"aten::{name}"), (reshape_dim_into(bdim, 0, tensor), *extra))
        return reshape_dim_outof(0, tensor._size[bdim], result), 0

    return rule


def new_blah(name: str) -> BatchRule:
    """Return the rule of ``new_zeros`` and similar operators, with the batch size before the wanted size
    (``NEW_BLAH_BATCH_RULE``).
    """

    def rule(tensor: Tensor, bdim: int, size: Size, *extra: Any) -> Batched:
        wanted = (tensor._size[bdim], *size)
        return call_operator(find(f"aten::{name}"), (tensor, wanted, *extra)), 0

    return rule


def clone(self: Tensor, bdim: int | None, memory_format: str | None) -> Batched:
    """Clone. "Contiguous" refers to each example. Raise RuntimeError for a format that depends on the rank."""
    if memory_format not in (None, "preserve_format", "contiguous_format"):
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format "
            f"or torch.contiguous_format (got {_printed(memory_format)})"
        )
    if memory_format == "contiguous_format":
        return ops.clone.call(move_batch_dim_to_front(self, bdim), memory_format), 0
    return ops.clone.call(self, memory_format), bdim


def view_as_complex(self: Tensor, bdim: int | None) -> Batched:
    """View as complex. The last dimension must belong to the examples; it must not be the batch dimension."""
    if len(self._size) <= 1:
        raise RuntimeError("Input tensor must have one or more dimensions")
    return ops.view_as_complex.call(move_batch_dim_to_front(self, bdim)), 0


def _printed(memory_format: str | None) -> str:
    """The text of a memory format as C++ prints it, ``ChannelsLast``."""
    return "".join(word.capitalize() for word in str(memory_format).split("_"))


BASIC_UNARY = (
    *("_to_copy", "_conj", "view_as_real", "alias", "detach", "neg", "exp", "log", "sin", "cos", "reciprocal", "relu"),
    "bitwise_not",
    *(
        "tanh",
        "sigmoid",
        "sqrt",
        "rsqrt",
        "erf",
        "abs",
        "angle",
        "sgn",
        "sign",
        "floor",
        "round",
        "isnan",
        "gelu",
        "silu",
    ),
    "round.decimals",
    *("sinh", "cosh", "log1p", "logical_not", "isneginf", "leaky_relu", "elu", "celu", "softplus", "hardtanh"),
    *("hardswish", "hardsigmoid", "mish", "softshrink", "hardshrink", "threshold"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "tan", "sinc", "deg2rad", "rad2deg"),
    *("exp2", "expm1", "log10", "log2", "logit", "ceil", "trunc", "frac", "nan_to_num", "isinf", "isposinf", "signbit"),
    *("digamma", "lgamma", "mvlgamma", "erfc", "erfinv", "i0", "special_entr", "special_erfcx", "special_ndtri"),
    *("special_i0e", "special_i1", "special_i1e"),
    "view.dtype",
    *("empty_like", "ones_like", "zeros_like", "full_like", "rand_like", "randn_like"),
    *("add.Scalar", "sub.Scalar", "rsub.Scalar", "mul.Scalar", "div.Scalar", "div.Scalar_mode", "pow.Tensor_Scalar"),
    *("clamp", "clamp_min", "eq.Scalar", "ne.Scalar", "ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar"),
)
UNARY_INPLACE = ("add_.Scalar", "sub_.Scalar", "mul_.Scalar", "div_.Scalar")
NEW_BLAH = ("new_empty", "new_zeros", "new_ones", "new_full")

KERNELS: dict[str, Kernel] = {
    **{name: plumbed(name, basic_unary(name)) for name in BASIC_UNARY},
    **{name: plumbed_inplace(name, unary_inplace(name)) for name in UNARY_INPLACE},
    **{name: plumbed(name, new_blah(name)) for name in NEW_BLAH},
    "clone": plumbed("clone", clone),
    "view_as_complex": plumbed("view_as_complex", view_as_complex),
}
"""Kernels for FuncTorchBatched."""
