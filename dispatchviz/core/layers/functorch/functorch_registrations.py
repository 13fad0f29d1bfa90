"""functorch's registrations: our functions for its keys. ``hand_written_kernels.py`` reads these tables.

An operator that has only a composite kernel is decomposed while it is batched (``BatchRulesDecompositions.cpp``): the
dispatch table entry for FuncTorchBatched holds the composite itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dispatchviz.core.generated import (
    register_composite_explicit_autograd,
    register_composite_explicit_autograd_non_functional,
    register_composite_implicit_autograd,
)
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functorch import dynamic_layer, loop_fallback, operator_hacks
from dispatchviz.core.layers.functorch.batch_rules import (
    batch_rules_activation,
    batch_rules_batch_norm,
    batch_rules_binary,
    batch_rules_convolution,
    batch_rules_dynamic,
    batch_rules_factory,
    batch_rules_group_norm,
    batch_rules_index,
    batch_rules_index_dim,
    batch_rules_linalg,
    batch_rules_loss,
    batch_rules_matrices,
    batch_rules_modules,
    batch_rules_norm,
    batch_rules_pooling,
    batch_rules_randomness,
    batch_rules_reduce,
    batch_rules_scatter,
    batch_rules_searching,
    batch_rules_unary,
    batch_rules_views,
    boxed_rules,
    legacy_batching,
)
from dispatchviz.core.layers.functorch.plumbing import Kernel

_EXPLICIT = (
    *("count_nonzero", "_convolution", "_unsafe_index.Tensor", "_unsafe_index_put", "_unsafe_masked_index"),
    "_unsafe_masked_index_put_accumulate",
)
"""Operators with ``OP_DECOMPOSE`` whose kernels are CompositeExplicitAutograd."""
_COPIES = ("alias_copy", "as_strided_copy", "diagonal_copy", "unfold_copy")
_ATTENTION = ("scaled_dot_product_attention", "_scaled_dot_product_attention_math")
"""Composites that are decomposed for FuncTorchVmapMode too, since they may draw random numbers."""


def _decomposed(names: Iterable[str]) -> dict[str, Kernel]:
    """The composite kernels themselves."""
    composites: dict[str, Any] = {
        **register_composite_explicit_autograd_non_functional.KERNELS,
        **register_composite_explicit_autograd.KERNELS,
        **register_composite_implicit_autograd.KERNELS,
    }
    return {name: composites[name] for name in names}


DROPOUTS = ("dropout", "dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")
"""Operators with ``OP_DECOMPOSE`` for FuncTorchVmapMode."""

KERNELS: dict[DispatchKey, Mapping[str, Kernel]] = {
    DispatchKey.FuncTorchBatched: {
        **batch_rules_unary.KERNELS,
        **batch_rules_binary.KERNELS,
        **batch_rules_reduce.KERNELS,
        **batch_rules_views.KERNELS,
        **batch_rules_linalg.KERNELS,
        **batch_rules_matrices.KERNELS,
        **batch_rules_scatter.KERNELS,
        **batch_rules_index.KERNELS,
        **batch_rules_index_dim.KERNELS,
        **batch_rules_searching.KERNELS,
        **_decomposed(_EXPLICIT),
        **batch_rules_modules.KERNELS,
        **batch_rules_convolution.KERNELS,
        **batch_rules_pooling.KERNELS,
        **batch_rules_norm.KERNELS,
        **batch_rules_batch_norm.KERNELS,
        **batch_rules_group_norm.KERNELS,
        **batch_rules_loss.KERNELS,
        **batch_rules_activation.KERNELS,
        **batch_rules_factory.KERNELS,
        **legacy_batching.KERNELS,
        **batch_rules_randomness.BATCHED,
    },
    DispatchKey.FuncTorchBatchedDecomposition: {
        **_decomposed(("is_same_size", *_COPIES)),
    },
    DispatchKey.FuncTorchVmapMode: {
        **batch_rules_randomness.KERNELS,
        **_decomposed((*DROPOUTS, *_ATTENTION)),
    },
    DispatchKey.FuncTorchDynamicLayerFrontMode: operator_hacks.KERNELS,
}
"""Typed kernels by key and operator."""

Boxed = Callable[..., None]

_POINTWISE = {
    "BatchRulesUnaryOps.cpp": (
        *("fill_.Scalar", "zero_", "neg_", "bitwise_not_", "exp_", "log_", "sin_", "cos_", "reciprocal_", "relu_"),
        *("tanh_", "sigmoid_", "sqrt_", "rsqrt_", "erf_", "abs_", "sgn_", "sign_", "floor_", "round_", "silu_"),
        "round_.decimals",
        *("sinh_", "cosh_", "log1p_", "logical_not_", "leaky_relu_", "elu_", "celu_", "hardtanh_", "hardswish_"),
        *("hardsigmoid_", "mish_", "threshold_"),
        *("acos_", "acosh_", "asin_", "asinh_", "atan_", "atanh_", "tan_", "sinc_", "deg2rad_", "rad2deg_"),
        *("exp2_", "expm1_", "log10_", "log2_", "logit_", "ceil_", "trunc_", "frac_", "nan_to_num_"),
        *("digamma_", "lgamma_", "mvlgamma_", "erfc_", "erfinv_", "i0_"),
        *(f"special_bessel_{kind}" for kind in ("j0", "j1", "y0", "y1")),
        *(f"special_modified_bessel_{kind}" for kind in ("i0", "i1", "k0", "k1")),
        *("special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0"),
    ),
    "BatchRulesBinaryOps.cpp": (
        *("add_.Tensor", "pow.Scalar", "pow_.Scalar", "clamp_min_", "clamp_min_.Tensor"),
        *("clamp.Tensor", "lerp.Scalar", "lerp.Tensor", "addcmul", "addcdiv", "atan2_", "clamp_max_"),
        *("remainder.Scalar_Tensor", "xlogy.Scalar_Self", "elu_backward", "softplus_backward", "log_sigmoid_forward"),
        *("_prelu_kernel_backward", "frexp.Tensor", "polygamma", "copysign_.Tensor", "copysign_.Scalar"),
        *("special_xlog1py.self_scalar", "special_zeta.self_scalar", "gcd_", "lcm_"),
        *(f"bitwise_{word}.Scalar_Tensor" for word in ("and", "or", "xor", "left_shift", "right_shift")),
        *(f"bitwise_{word}_.Scalar" for word in ("and", "or", "xor")),
        *(f"__i{side}shift__.{kind}" for side in "lr" for kind in ("Scalar", "Tensor")),
        *(f"bitwise_{side}_shift_.{kind}" for side in ("left", "right") for kind in ("Tensor", "Tensor_Scalar")),
    ),
}
"""Operators with the boxed pointwise rule, by PyTorch's file."""


_BOXED: dict[str, Mapping[str, Boxed]] = {
    "BatchRulesBinaryOps.cpp": {"_euclidean_dist": boxed_rules.variadic_bdims},
    "BatchRulesReduceOps.cpp": batch_rules_reduce.BOXED,
    "BatchRulesPooling.cpp": batch_rules_pooling.BOXED,
    "BatchRulesModules.cpp": batch_rules_modules.BOXED,
    "BatchRulesDynamic.cpp": batch_rules_dynamic.BOXED,
}
"""Operators with another boxed rule, by PyTorch's file."""


def _named(operator: str, file: str) -> str:
    """The name of a boxed kernel, as ``kernel_names.kernel_name`` gives it."""
    base, _, overload = operator.partition(".")
    function = f"{base}_out" if overload.endswith("out") else base
    return f"{function}_{overload} ({file})" if overload else f"{function} ({file})"


def _boxed() -> dict[str, Boxed]:
    found: dict[str, Boxed] = {
        _named(name, file): boxed_rules.pointwise for file, names in _POINTWISE.items() for name in names
    }
    for file, rules in _BOXED.items():
        found |= {_named(name, file): rule for name, rule in rules.items()}
    nyi = batch_rules_randomness.nyi_random_op
    found |= {_named(name, "VmapModeRegistrations.cpp"): nyi for name in batch_rules_randomness.NYI}
    refused = batch_rules_randomness.unsupported_random_op
    found |= {_named(name, "VmapModeRegistrations.cpp"): refused for name in batch_rules_randomness.BOXED}
    found[_named("as_strided_scatter", "BatchRulesScatterOps.cpp")] = loop_fallback.vmap_error_fallback
    data = "_has_compatible_shallow_copy_type"
    found[_named(data, "BatchRulesDecompositions.cpp")] = batch_rules_dynamic.unsupported_data
    # only ``grad`` treats these two differently from other operators
    found |= {_named(name, "DynamicLayer.cpp"): dynamic_layer.dynamic_layer_back_fallback for name in _BACK}
    return found


_BACK = ("lift_fresh", "alias")
"""Operators with a BackMode kernel of their own."""

BOXED_KERNELS: dict[str, Boxed] = _boxed()
"""Boxed kernels by PyTorch's name."""
