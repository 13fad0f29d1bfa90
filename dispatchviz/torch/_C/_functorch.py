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
    """A vmap begins; its level."""
    if randomness not in ("error", "same", "different"):
        raise RuntimeError("randomness argument must be error, same, or different.")
    return init_and_push(VmapInterpreter, batch_size, randomness)


def _vmap_decrement_nesting() -> int:
    """The vmap on top is over; its level."""
    return pop_and_delete().level


def _grad_increment_nesting() -> int:
    """A grad begins; its level."""
    return init_and_push(GradInterpreter, prev_grad_mode())


def _grad_decrement_nesting() -> int:
    """The grad on top is over; its level."""
    return pop_and_delete().level


def _jvp_increment_nesting() -> int:
    """A jvp begins; its level."""
    return init_and_push(JvpInterpreter, prev_fwd_grad_mode())


def _jvp_decrement_nesting() -> int:
    """The jvp on top is over; its level."""
    return pop_and_delete().level


def current_level() -> int:
    """Of the transform on top."""
    return layers()[-1].level


def are_transforms_active() -> bool:
    """Return whether there is one."""
    return bool(layers())


# -- wrapping and unwrapping -------------------------------------------------------------------------------------------


def _unwrap_batched(self: Tensor, level: int) -> tuple[Tensor, int | None]:
    """The value and the batch dimension (bdim), if the tensor is batched at this level."""
    return unwrap_at_level(self, level)


def _wrap_for_grad(self: Tensor, level: int) -> Tensor:
    """A tensor of that level of grad."""
    return make_tensor_wrapper(self, layers()[level - 1].interpreter)


def _unwrap_for_grad(self: Tensor, level: int) -> Tensor:
    """The tensor that a wrapper of that level wraps; another tensor unchanged."""
    unwrapped: Tensor = unwrap_for_grad(self, level)
    return unwrapped


# -- queries -----------------------------------------------------------------------------------------------------------


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return whether it is a BatchedTensor."""
    return maybe_get_batched_impl(tensor) is not None


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Return whether ``grad`` or ``jvp`` wrapped it."""
    return maybe_get_tensor_wrapper(tensor) is not None


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Return whether some transform wrapped it."""
    return maybe_get_level(tensor) != -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The wrapped tensor. RuntimeError for an ordinary tensor."""
    wrapped = maybe_get_batched_impl(tensor) or maybe_get_tensor_wrapper(tensor)
    if wrapped is None:
        raise RuntimeError("No wrappers present!")
    return wrapped.value


def maybe_get_level(tensor: Tensor) -> int:
    """The level that wrapped it; -1 for an ordinary tensor."""
    wrapped = maybe_get_batched_impl(tensor) or maybe_get_tensor_wrapper(tensor)
    return -1 if wrapped is None else wrapped.level


def maybe_get_bdim(tensor: Tensor) -> int:
    """The batch dimension (bdim); -1 without one."""
    impl = maybe_get_batched_impl(tensor)
    return -1 if impl is None else impl.bdim


# -- the loop ----------------------------------------------------------------------------------------------------------


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Off, an operator without a batch rule raises."""
    loop_fallback.settings.enabled = enabled


def _is_vmap_fallback_enabled() -> bool:
    return loop_fallback.settings.enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Off, the loop does not warn."""
    loop_fallback.settings.warning_enabled = enabled
