"""Batch rules of random operators (``BatchRulesRandomness.cpp``, ``VmapModeRegistrations.cpp``).

They are registered for FuncTorchVmapMode, which every vmap includes, because a random operator may have no batched
argument at all. The user decides whether examples share their numbers, by ``randomness`` of ``vmap``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_binary import aligned, binary_pointwise_helper
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    check_randomness,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
    vmap_incompatible_inplace_error,
    vmap_layer,
)
from dispatchviz.core.layers.functorch.batched_tensor import make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Kernel, call_operator
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard

_VMAP_MODE = raw(DispatchKey.FuncTorchVmapMode)


def factory(name: str) -> Kernel:
    """Return the kernel of a factory, which makes one tensor for all examples, or a bigger one
    (``random_batching_rule``).
    """
    op_name = f"aten::{name}"

    def kernel(ks: int, size: Size, *extra: Any) -> Any:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            if check_randomness() == "different":
                result = call_operator(find(op_name), ((layer.batch_size, *size), *extra))
                return make_batched(result, 0, layer.level)
            return call_operator(find(op_name), (size, *extra))

    return kernel


def randint(name: str, bounds: int) -> Kernel:
    """Return the kernel of a factory with ``bounds`` arguments before the size (``randint_batching_rule``)."""
    op_name = f"aten::{name}"

    def kernel(ks: int, *args: Any) -> Any:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            if check_randomness() != "different":
                return call_operator(find(op_name), args)
            size = (layer.batch_size, *args[bounds])
            result = call_operator(find(op_name), (*args[:bounds], size, *args[bounds + 1 :]))
            return make_batched(result, 0, layer.level)

    return kernel


def randperm(name: str) -> Kernel:
    """Return a kernel that makes one permutation after the other and stacks them (``randperm_batching_rule``)."""
    op_name = f"aten::{name}"

    def kernel(ks: int, n: int, *extra: Any) -> Any:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            if check_randomness() != "different":
                return call_operator(find(op_name), (n, *extra))
            results = [call_operator(find(op_name), (n, *extra)) for _ in range(layer.batch_size)]
            return make_batched(ops.stack.call(results, 0), 0, layer.level)

    return kernel


def inplace(name: str) -> Kernel:
    """Return the kernel of an in-place operator (``random_inplace_batching_rule``). The same numbers for all examples
    are drawn once and copied.
    """
    op_name = f"aten::{name}"

    def kernel(ks: int, self: Tensor, *extra: Any) -> Tensor:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            value, bdim = unwrap_at_level(self, vmap_layer().level)
            value = move_batch_dim_to_front(value, bdim)
            randomness = check_randomness()
            _check_not_broadcast(randomness, bdim)
            if randomness == "same" and bdim is not None:
                intermediate = ops.empty_memory_format.call(self._size, self._dtype, None, self._device, None, None)
                call_operator(find(op_name), (intermediate, *extra))
                ops.copy_.call(self, intermediate, False)
            else:
                call_operator(find(op_name), (value, *extra))
            return self

    return kernel


def like(name: str) -> Kernel:
    """Return a kernel that makes a tensor like one example, or like all (``tensor_like_random_batch_rule``)."""
    op_name = f"aten::{name}"

    def kernel(ks: int, self: Tensor, *extra: Any) -> Tensor:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            randomness = check_randomness()
            value, bdim = unwrap_at_level(self, layer.level)
            value = move_batch_dim_to_front(value, bdim)
            if randomness == "same" and bdim is not None:
                value = ops.select_int.call(value, 0, 0)
            elif randomness == "different" and bdim is None:
                value = ops.expand.call(value, (layer.batch_size, *value._size), False)
            result: Tensor = call_operator(find(op_name), (value, *extra))
            return result if randomness == "same" else make_batched(result, 0, layer.level)

    return kernel


def native_dropout(ks: int, self: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Apply dropout. Without training nothing is random. The same mask for all examples is made like one example."""
    with ExcludeDispatchKeyGuard(_VMAP_MODE):
        layer = vmap_layer()
        value, bdim = unwrap_at_level(self, layer.level)
        value = move_batch_dim_to_front(value, bdim)
        randomness = layer.randomness if train is False else check_randomness()
        if train is not False and randomness == "same":
            return _dropout_with_mask(self, 1 - p)
        if bdim is None:
            value = ops.expand.call(value, (layer.batch_size, *value._size), False)
        output, mask = ops.native_dropout.call(value, p, train)
        return make_batched(output, 0, layer.level), make_batched(mask, 0, layer.level)


def _dropout_with_mask(self: Tensor, kept: float) -> tuple[Tensor, Tensor]:
    mask = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    ops.bernoulli__float.call(mask, kept, None)
    scale = 1 / kept if kept else 0.0
    return ops.mul__Scalar.call(ops.mul_Tensor.call(self, mask), scale), mask


def native_dropout_backward(ks: int, grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Multiply by operators with batch rules. Nothing is random."""
    return ops.mul_Scalar.call(ops.mul_Tensor.call(grad_output, mask), scale)


def unary_pointwise(name: str) -> Kernel:
    """Return the kernel of a unary operator, whose tensor gives at least the shape
    (``unary_pointwise_random_batch_rule``).
    """
    op_name = f"aten::{name}"

    def kernel(ks: int, self: Tensor, *extra: Any) -> Tensor:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            value, bdim = unwrap_at_level(self, layer.level)
            value = move_batch_dim_to_front(value, bdim)
            randomness = check_randomness(bdim is not None)
            if randomness == "different" and bdim is None:
                value = ops.expand.call(value, (layer.batch_size, *value._size), False)
            result: Tensor = call_operator(find(op_name), (value, *extra))
            return result if randomness == "same" and bdim is None else make_batched(result, 0, layer.level)

    return kernel


def normal_with_number_first(ks: int, mean: float, std: Tensor, *extra: Any) -> Tensor:
    """Run an operator whose tensor is the second argument (``UNARY_POINTWISE_RANDOM_LEADING_FLOAT``)."""
    with ExcludeDispatchKeyGuard(_VMAP_MODE):
        layer = vmap_layer()
        value, bdim = unwrap_at_level(std, layer.level)
        value = move_batch_dim_to_front(value, bdim)
        randomness = check_randomness(bdim is not None)
        if randomness == "different" and bdim is None:
            value = ops.expand.call(value, (layer.batch_size, *value._size), False)
        result = ops.normal_float_Tensor.call(mean, value, *extra)
        return result if randomness == "same" and bdim is None else make_batched(result, 0, layer.level)


def binary_pointwise(name: str) -> Kernel:
    """Return the kernel of a binary operator (``binary_random_pointwise_batch_rule``)."""
    op_name = f"aten::{name}"

    def kernel(ks: int, self: Tensor, other: Tensor, *extra: Any) -> Tensor:
        with ExcludeDispatchKeyGuard(_VMAP_MODE):
            layer = vmap_layer()
            first, second = unwrap_at_level(self, layer.level), unwrap_at_level(other, layer.level)
            batched = first[1] is not None or second[1] is not None
            result: Tensor
            if check_randomness(batched) == "same" and not batched:
                result = call_operator(find(op_name), (first[0], second[0], *extra))
                return result
            if not batched:
                first = ops.expand.call(first[0], (layer.batch_size, *first[0]._size), False), 0
            result = call_operator(find(op_name), (*binary_pointwise_helper(first, second), *extra))
            return make_batched(result, 0, layer.level)

    return kernel


def bernoulli_with_tensor(ks: int, self: Tensor, p: Tensor, *extra: Any) -> Tensor:
    """Draw in place (``bernoulli_inplace_Tensor_batching_rule``)."""
    with ExcludeDispatchKeyGuard(_VMAP_MODE):
        layer = vmap_layer()
        own, other = unwrap_at_level(self, layer.level), unwrap_at_level(p, layer.level)
        randomness = check_randomness(other[1] is not None)
        if own[1] is None and other[1] is not None:
            vmap_incompatible_inplace_error("inplace bernoulli")
        value, probabilities = aligned(own, other)
        _check_not_broadcast(randomness, own[1])
        if randomness == "same" and own[1] is not None:
            samples = ops.empty_memory_format.call(self._size, self._dtype, None, self._device, None, None)
            ops.copy_.call(self, ops.bernoulli__Tensor.call(samples, probabilities, *extra), False)
        else:
            ops.bernoulli__Tensor.call(value, probabilities, *extra)
        return self


def multinomial(ks: int, self: Tensor, num_samples: int, *extra: Any) -> Tensor:
    """Draw, with all examples' rows as rows of one matrix (``multinomial_batching_rule``)."""
    with ExcludeDispatchKeyGuard(_VMAP_MODE):
        layer = vmap_layer()
        value, bdim = unwrap_at_level(self, layer.level)
        value = move_batch_dim_to_front(value, bdim)
        if check_randomness(bdim is not None) == "same":
            return ops.multinomial.call(value, num_samples, *extra)
        rows = rank_without_batch_dim(value, bdim) == 2
        value = ensure_has_bdim(value, bdim is not None, layer.batch_size)
        if rows:
            value = reshape_dim_into(0, 0, value)
        result = ops.multinomial.call(value, num_samples, *extra)
        if rows:
            result = reshape_dim_outof(0, layer.batch_size, result)
        return make_batched(result, 0, layer.level)


def _check_not_broadcast(randomness: str, bdim: int | None) -> None:
    """Raise RuntimeError if examples need different numbers and would share one tensor."""
    if randomness == "different" and bdim is None:
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
            "same randomness. If this is necessary for your usage, please file an issue with functorch."
        )


def unsupported_random_op(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(
        "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants "
        "as a workaround"
    )


def nyi_random_op(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError."""
    raise RuntimeError(f"vmap: we do not yet support {op.name}. Please file an issue")


KERNELS: dict[str, Kernel] = {
    **{name: factory(name) for name in ("rand", "rand.generator", "randn", "randn.generator")},
    **{name: randint(name, 1) for name in ("randint", "randint.generator")},
    **{name: randint(name, 2) for name in ("randint.low", "randint.low_generator")},
    **{name: randperm(name) for name in ("randperm", "randperm.generator")},
    **{name: inplace(name) for name in ("normal_", "uniform_", "bernoulli_.float", "random_", "random_.from")},
    **{name: inplace(name) for name in ("random_.to", "cauchy_", "exponential_", "geometric_", "log_normal_")},
    **{name: like(name) for name in ("rand_like", "randn_like", "randint_like", "randint_like.low_dtype")},
    **{name: unary_pointwise(name) for name in ("bernoulli.p", "bernoulli", "normal.Tensor_float")},
    "normal.float_Tensor": normal_with_number_first,
    **{name: unary_pointwise(name) for name in ("poisson", "_standard_gamma", "_sample_dirichlet")},
    **{name: binary_pointwise(name) for name in ("normal.Tensor_Tensor", "binomial")},
    "normal.float_float": randint("normal.float_float", 2),
    "bernoulli_.Tensor": bernoulli_with_tensor,
    "multinomial": multinomial,
    "native_dropout": native_dropout,
    "native_dropout_backward": native_dropout_backward,
}
"""Kernels for FuncTorchVmapMode."""
BATCHED: dict[str, Kernel] = {"bernoulli_.float": inplace("bernoulli_.float")}
"""Kernels for FuncTorchBatched, for calls made while FuncTorchVmapMode is excluded."""
BOXED = (
    *("rand.out", "rand.generator_out", "randn.out", "randn.generator_out", "randint.out", "randint.generator_out"),
    *("randperm.out", "randperm.generator_out", "bernoulli.out", "multinomial.out"),
    *("normal.float_Tensor_out", "normal.Tensor_Tensor_out", "normal.float_float_out"),
    "rrelu_with_noise.out",
)
"""Operators that are refused for FuncTorchVmapMode."""
NYI = ("rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_")
"""Operators that are refused for FuncTorchVmapMode because PyTorch has no rule for them."""
