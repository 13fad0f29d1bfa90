"""``torch._C._functorch``: levels and wrappers of transforms (``torch/csrc/functorch/init.cpp``)."""

from __future__ import annotations

from dispatchviz.core.layers.functorch import loop_fallback
from dispatchviz.core.layers.functorch.ad_interpreters import (
    GradInterpreter,
    JvpInterpreter,
    make_tensor_wrapper,
    prev_fwd_grad_mode,
    prev_grad_mode,
    unwrap_for_grad,
)
from dispatchviz.core.layers.functorch.batched_tensor import (
    add_batch_dim,
    maybe_get_batched_impl,
    remove_batch_dim,
    unwrap_at_level,
)
from dispatchviz.core.layers.functorch.dynamic_layer import init_and_push, layers, pop_and_delete
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.layers.functorch.tensor_wrapper import maybe_get_tensor_wrapper
from dispatchviz.core.tensor.tensor import Tensor

_add_batch_dim, _remove_batch_dim = add_batch_dim, remove_batch_dim

# -- levels ------------------------------------------------------------------------------------------------------------


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begin a vmap and return its level."""
    if randomness not in ("error", "same", "different"):
        raise RuntimeError("randomness argument must be error, same, or different.")
    return init_and_push(VmapInterpreter, batch_size, randomness)


def _vmap_decrement_nesting() -> int:
    """End the innermost vmap and return its level."""
    return pop_and_delete().level


def _grad_increment_nesting() -> int:
    """Begin a grad and return its level."""
    return init_and_push(GradInterpreter, prev_grad_mode())


def _grad_decrement_nesting() -> int:
    """End the innermost grad and return its level."""
    return pop_and_delete().level


def _jvp_increment_nesting() -> int:
    """Begin a jvp and return its level."""
    return init_and_push(JvpInterpreter, prev_fwd_grad_mode())


def _jvp_decrement_nesting() -> int:
    """End the innermost jvp and return its level."""
    return pop_and_delete().level


def current_level() -> int:
    """Return the level of the innermost transform."""
    return layers()[-1].level


def are_transforms_active() -> bool:
    """Return whether a transform is active."""
    return bool(layers())


# -- wrapping and unwrapping -------------------------------------------------------------------------------------------


def _unwrap_batched(self: Tensor, level: int) -> tuple[Tensor, int | None]:
    """Return the value and the batch dimension (bdim, None unless the tensor is batched at this level)."""
    return unwrap_at_level(self, level)


def _wrap_for_grad(self: Tensor, level: int) -> Tensor:
    """Return the tensor wrapped at this level of grad."""
    return make_tensor_wrapper(self, layers()[level - 1].interpreter)


def _unwrap_for_grad(self: Tensor, level: int) -> Tensor:
    """Return the tensor inside a wrapper of this level, and any other tensor unchanged."""
    unwrapped: Tensor = unwrap_for_grad(self, level)
    return unwrapped


# -- queries -----------------------------------------------------------------------------------------------------------


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return whether the tensor is a BatchedTensor."""
    return maybe_get_batched_impl(tensor) is not None


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Return whether ``grad`` or ``jvp`` wrapped the tensor."""
    return maybe_get_tensor_wrapper(tensor) is not None


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Return whether a transform wrapped the tensor."""
    return maybe_get_level(tensor) != -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return the wrapped tensor. Raise RuntimeError for an ordinary tensor."""
    wrapped = maybe_get_batched_impl(tensor) or maybe_get_tensor_wrapper(tensor)
    if wrapped is None:
        raise RuntimeError("No wrappers present!")
    return wrapped.value


def maybe_get_level(tensor: Tensor) -> int:
    """Return the level that wrapped the tensor, or -1 for an ordinary tensor."""
    wrapped = maybe_get_batched_impl(tensor) or maybe_get_tensor_wrapper(tensor)
    return -1 if wrapped is None else wrapped.level


def maybe_get_bdim(tensor: Tensor) -> int:
    """Return the batch dimension (bdim), or -1 if there is none."""
    impl = maybe_get_batched_impl(tensor)
    return -1 if impl is None else impl.bdim


# -- the loop ----------------------------------------------------------------------------------------------------------


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Set whether an operator without a batch rule falls back to a loop or raises."""
    loop_fallback.settings.enabled = enabled


def _is_vmap_fallback_enabled() -> bool:
    return loop_fallback.settings.enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Set whether the fallback loop warns."""
    loop_fallback.settings.warning_enabled = enabled
