"""AccumulateGrad: the Node of a leaf, which accumulates into its ``.grad``.

This module mirrors ``torch/csrc/autograd/functions/accumulate_grad.h`` and ``utils/grad_layout_contract.h``. The
numbers of the cases are PyTorch's. Those of sparse, nested and mkldnn tensors (1.2, 1.3, 1.4, 2.1, 3.1) and of vmap
(2.2) do not exist here.

Rule 1: a gradient becomes ``.grad`` (it is stolen) only if the engine holds the only reference to it.
Rule 2: once there is a ``.grad``, it stays the same object, unless the sum needs a history.
Rule 3: ``.grad`` has the strides of the leaf if that is dense, else it is contiguous. A stolen gradient may have other
strides if that is not enforced (``enforce_grad_layout_policy``).
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any, cast

from dispatchviz.core.autograd.graph.accumulation_reasons import GRAD_MODE, NOT_ENFORCED, SHARED, STEALABLE
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR, Gradients, Node
from dispatchviz.core.autograd.hooks.hooks import TensorPreHook, run_post_accumulate_hooks
from dispatchviz.core.autograd.variables import variable as autograd
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor, is_non_overlapping_and_dense
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.gradient_events import AccumulationMethod


class AccumulateGrad(Node):
    """A Node with one input and no outputs. It has the largest sequence number, so it runs as soon as its gradient is
    complete.
    """

    __slots__ = ("variable",)
    cpp_name = "torch::autograd::AccumulateGrad"
    tensor_keeps_hooks = True

    variable: Tensor | None
    """The leaf; None after a Function wrote to the tensor (``mark_dirty``), since it is then no longer a leaf."""

    def __init__(self, variable: Tensor) -> None:
        Node.__init__(self, MAX_SEQUENCE_NR)
        self.variable = variable
        self.add_input_metadata(variable)

    def tensor_pre_hooks(self) -> Sequence[TensorPreHook]:
        """Return the hooks that the leaf itself keeps, since it outlives this Node."""
        hooks = None if self.variable is None else self.variable._hooks
        return () if hooks is None or hooks.backward is None else (TensorPreHook(hooks.backward, 0),)

    def apply(self, grads: Gradients) -> Gradients:
        """Add the gradient to ``.grad``. Raise RuntimeError if the leaf has got a history meanwhile.

        The leaf's hooks run even if there is nothing to add.
        """
        leaf = self.variable
        if grads[0] is None:
            if leaf is not None:
                run_post_accumulate_hooks(self, leaf)
            return []
        if leaf is None:  # NB: in PyTorch, this ends the process
            raise RuntimeError("cannot call get_autograd_meta() on undefined tensor")
        if autograd.grad_fn(leaf) is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        if not autograd.requires_grad(leaf):
            run_post_accumulate_hooks(self, leaf)
            return []
        # With post hooks the engine keeps a second list of the inputs, which is no reason not to take one over.
        expected = 1 if self.hooks is None or self.hooks.post is None else 2
        with self._lock():  # held while hooks run, and a hook may start another backward
            _accumulate(leaf, cast("list[Tensor]", grads), expected)
            run_post_accumulate_hooks(self, leaf)
        return []


def _accumulate(leaf: Tensor, grads: list[Tensor], expected: int) -> None:
    """Update ``leaf.grad`` with ``grads[0]``."""
    how: AccumulationMethod
    if leaf._grad is not None:
        how, why = _add(leaf, leaf._grad, grads)
    else:
        reason = _copy_reason(leaf, grads, expected)
        if reason:
            leaf._grad = _clone_obey_contract(leaf, grads)
            how, why = "copied", reason
        else:
            leaf._grad = ops.detach.call(grads[0])
            how, why = "stolen", STEALABLE if thread.state.grad_layout_enforced else NOT_ENFORCED
    if recorder.active is not None:
        recorder.active.gradient_accumulated(leaf, grads[0], leaf._grad, how, why)


def _add(leaf: Tensor, present: Tensor, grads: list[Tensor]) -> tuple[AccumulationMethod, str]:
    """Add the gradient to ``.grad``: cases 2.3 and 3.2."""
    if thread.state.grad_mode:
        leaf._grad = ops.add_Tensor.call(present, grads[0], 1)
        return "added out of place", ".grad exists and grad mode is on: the sum may need a history"
    ops.add__Tensor.call(present, grads[0], 1)
    return "added in place", ".grad exists and grad mode is off: it stays the same tensor"


def _copy_reason(leaf: Tensor, grads: list[Tensor], expected: int) -> str:
    """Return the reason why the gradient cannot become ``.grad`` (case 1.5); empty if it can (case 1.1)."""
    if thread.state.grad_mode:
        return GRAD_MODE
    if reference_count(grads, 0) > expected:
        return SHARED
    if thread.state.grad_layout_enforced and not _obeys_layout_contract(leaf, grads):
        return _layout_mismatch(leaf, grads)
    return ""


def _layout_mismatch(leaf: Tensor, grads: list[Tensor]) -> str:
    strides = list(grads[0]._stride)
    if is_non_overlapping_and_dense(leaf._size, leaf._stride):
        return f"the layout contract requires the leaf's strides, {list(leaf._stride)}, and the gradient has {strides}"
    return f"the layout contract requires a contiguous .grad, and the gradient has the strides {strides}"


def _obeys_layout_contract(leaf: Tensor, grads: list[Tensor]) -> bool:
    """Return whether the gradient has the strides that ``.grad`` should have. The dimensions are those of the gradient,
    since a leaf that was reshaped in place may have others.
    """
    grad = grads[0]
    if not is_non_overlapping_and_dense(leaf._size, leaf._stride):
        return grad._is_contiguous
    return all(
        step != 0 if length == 1 else step == wanted
        for length, step, wanted in zip(grad._size, grad._stride, leaf._stride, strict=False)
    )


def _clone_obey_contract(leaf: Tensor, grads: list[Tensor]) -> Tensor:
    """Return a copy with the strides that ``.grad`` should have. It keeps its history if grad mode is on."""
    grad = grads[0]
    if not is_non_overlapping_and_dense(leaf._size, leaf._stride):
        return ops.clone.call(grad, "contiguous_format")
    fresh = ops.new_empty_strided.call(grad, leaf._size, leaf._stride, grad._dtype, "strided", leaf._device, None)
    return ops.copy_.call(fresh, grad, False)


def reference_count(tensors: list[Any], index: int) -> int:
    """The number of references to ``tensors[index]``, including the list's own."""
    return getrefcount(tensors[index]) - 1


def holds_only_reference_to_memory(tensors: list[Any], index: int) -> bool:
    """Return whether the list holds the only reference to the tensor, and the tensor the only one to its storage."""
    return getrefcount(tensors[index]) == 2 and getrefcount(tensors[index]._storage) == 2
