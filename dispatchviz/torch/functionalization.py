"""``torch._to_functional_tensor`` and similar functions (``torch/csrc/autograd/python_torch_functions_manual.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functionalization import functional_wrapper
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import set_dispatch_key_included
from dispatchviz.core.thread.thread_state import thread

_FILE = "torch/csrc/autograd/python_torch_functions_manual.cpp"


@bound("_to_functional_tensor(arg0: torch.Tensor) -> torch.Tensor")
def _to_functional_tensor(tensor: Tensor) -> Tensor:
    """Wrap a tensor. Raise RuntimeError if it is a wrapper already."""
    return functional_wrapper.to_functional_tensor(tensor)


@bound("_from_functional_tensor(arg0: torch.Tensor) -> torch.Tensor")
def _from_functional_tensor(tensor: Tensor) -> Tensor | None:
    """Return the wrapped value without applying pending updates (see ``_sync``). Raise RuntimeError for a tensor that
    is not a wrapper.
    """
    return functional_wrapper.from_functional_tensor(tensor)


@bound("_is_functional_tensor(arg0: torch.Tensor) -> bool")
def _is_functional_tensor(tensor: Tensor) -> bool:
    """Return whether the tensor is a wrapper."""
    return functional_wrapper.is_functional_tensor(tensor)


@bound("_is_functional_tensor_base(arg0: torch.Tensor) -> bool")
def _is_functional_tensor_base(tensor: Tensor) -> bool:
    """Return whether the tensor is a wrapper and not a view of another one. Raise RuntimeError for a tensor that is not
    a wrapper.
    """
    _check(tensor, 695)
    return not functional_wrapper.functional_wrapper(tensor).view_metas


@bound("_functionalize_has_metadata_mutation(arg0: torch.Tensor) -> bool")
def _functionalize_has_metadata_mutation(tensor: Tensor) -> bool:
    """Return whether an in-place view changed the geometry. Raise RuntimeError for a tensor that is not a wrapper."""
    _check(tensor, 695)
    return functional_wrapper.functional_wrapper(tensor).has_metadata_mutation


@bound("_functionalize_has_data_mutation(arg0: torch.Tensor) -> bool")
def _functionalize_has_data_mutation(tensor: Tensor) -> bool:
    """Return whether the tensor, or a view of its base, was written to. Raise RuntimeError for a tensor that is not a
    wrapper.
    """
    _check(tensor, 695)
    return functional_wrapper.functional_wrapper(tensor).storage.generation > 0


@bound("_sync(arg0: torch.Tensor) -> None")
def _sync(tensor: Tensor) -> None:
    """Apply pending updates of other views (``sync_``). Raise RuntimeError for a tensor that is not a wrapper."""
    _check(tensor, 702)
    functional_wrapper.sync(tensor)


def _check(tensor: Tensor, line: int) -> None:
    if not functional_wrapper.is_functional_tensor(tensor):
        raise RuntimeError(
            f'at::functionalization::impl::isFunctionalTensor(t) INTERNAL ASSERT FAILED at "{_FILE}":{line}, please '
            "report a bug to PyTorch. "
        )


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """Add Functionalize to the keys of every call. Raise RuntimeError if it is there already."""
    if thread.state.included & functional_wrapper.FUNCTIONALIZE:
        raise RuntimeError(
            f'false INTERNAL ASSERT FAILED at "{_FILE}":821, please report a bug to PyTorch. multiple layers of '
            "mode-style functionalization nesting is not currently supported, outside of the functionalize() transform"
        )
    set_dispatch_key_included(DispatchKey.Functionalize, True)
    thread.state.functionalization_reapply_views = reapply_views


def _disable_functionalization() -> None:
    """Remove Functionalize from the keys of every call."""
    set_dispatch_key_included(DispatchKey.Functionalize, False)
    thread.state.functionalization_reapply_views = False


def _functionalization_reapply_views_tls() -> bool:
    """``torch._C._functionalization_reapply_views_tls``: return whether views are reapplied as views."""
    return functional_wrapper.reapply_views()


NAMES: dict[str, Any] = {
    function.__name__: function
    for function in (
        _to_functional_tensor,
        _from_functional_tensor,
        _is_functional_tensor,
        _is_functional_tensor_base,
        _functionalize_has_metadata_mutation,
        _functionalize_has_data_mutation,
        _sync,
        _enable_functionalization,
        _disable_functionalization,
    )
}
"""The functions by their names in ``torch``."""
