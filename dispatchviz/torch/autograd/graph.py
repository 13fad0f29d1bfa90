"""``torch.autograd.graph``: Nodes, edges, saved-tensor hooks (``torch/autograd/graph.py``).

``register_multi_grad_hook`` is in ``multi_grad_hook.py``, ``allow_mutation_on_saved_tensors`` in
``mutation_on_saved.py``.

NB: in PyTorch, there are also ``region_activation_memory_budget`` (for torch.compile) and
``set_override_stale_capture_stream`` (for CUDA graphs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dispatchviz.core.autograd.engine import engine_streams
from dispatchviz.core.autograd.graph.gradient_edge import GradientEdge as GradientEdge
from dispatchviz.core.autograd.graph.gradient_edge import get_gradient_edge as get_gradient_edge
from dispatchviz.core.bindings.python_bindings_manual import to_device_and_dtype
from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C import _autograd
from dispatchviz.torch._C._engine import _increment_version
from dispatchviz.torch.autograd.graph_node import Node as Node
from dispatchviz.torch.autograd.multi_grad_hook import register_multi_grad_hook as register_multi_grad_hook
from dispatchviz.torch.autograd.mutation_on_saved import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from dispatchviz.torch.autograd.saved_tensors_hooks import saved_tensors_hooks as saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Set whether a leaf's Node that receives a gradient from another stream than its own causes a warning, once."""
    engine_streams.warn_on_accumulate_grad_stream_mismatch = enabled


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of tensors that were written to without an operator. Raise RuntimeError for anything but
    tensors.
    """
    _increment_version((tensor,) if isinstance(tensor, Tensor) else tensor)


class save_on_cpu(saved_tensors_hooks):
    """Pack saved tensors to the CPU, and unpack them to their device.

    NB: in PyTorch, ``pin_memory`` makes the copies asynchronous; here it changes nothing.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Tensor) -> tuple[Device, Tensor]:
            return tensor._device, to_device_and_dtype(tensor, Device("cpu"), None)

        def unpack_from_cpu(packed: tuple[Device, Tensor]) -> Tensor:
            device, tensor = packed
            moved: Tensor = to_device_and_dtype(tensor, device, None)
            return moved

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Let default saved-tensor hooks raise RuntimeError with this message inside the block."""
    before = None
    try:
        before = _autograd._saved_tensors_hooks_get_disabled_error_message()
        _autograd._saved_tensors_hooks_disable(error_message)
        yield
    finally:
        if before is None:
            _autograd._saved_tensors_hooks_enable()
        else:
            _autograd._saved_tensors_hooks_disable(before)
