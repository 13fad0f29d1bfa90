"""CopyBackwards, CopySlices: the Nodes of ``copy_`` and of in-place operations on views
(``torch/csrc/autograd/functions/tensor.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.engine.graph_task import ExecInfo
from dispatchviz.core.autograd.formulas.complex_gradients import handle_r_to_c
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.graph.saved_variable import ERR_BACKWARD_TWICE
from dispatchviz.core.autograd.variables.variable import gradient_edge
from dispatchviz.core.autograd.variables.view_replay import ReplayedViewMeta, replay
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.thread_state import thread

Geometry = tuple[Size, Size, int]
"""The size, strides and offset, in elements."""


def geometry_of(tensor: Tensor) -> Geometry:
    """The geometry of a tensor (``TensorGeometry``)."""
    return tensor._size, tensor._stride, tensor._offset


class CopyBackwards(Node):
    """copy_(self, src)    self: zeros_like(grad)    src: handle_r_to_c(src's dtype, grad).to(src's dtype and device)"""

    __slots__ = ("src_device", "src_dtype")
    cpp_name = "torch::autograd::CopyBackwards"

    edge_names = ("self", "src")

    src_dtype: DType
    src_device: Device

    def apply(self, grads: Gradients) -> Gradients:
        grad = grads[0]
        grad_inputs: Gradients = [None, None]
        if grad is None:
            return grad_inputs
        if self.task_should_compute_output(0):
            grad_inputs[0] = ops.zeros_like.call(grad, None, None, None, None, "contiguous_format")
        if self.task_should_compute_output(1):
            grad = handle_r_to_c(self.src_dtype, grad)
            grad_inputs[1] = ops.to_dtype_layout.call(
                grad, self.src_dtype, "strided", self.src_device, None, False, False, None
            )
        return grad_inputs


class CopySlices(Node):
    """The history of a base that was written to through a view.

    Edge 0 leads to the base's previous history. The other edges are those of ``fn``, the Node of the operation, whose
    own edge 0 (the old view) is replaced by the base. ``fn`` appears in no ``next_functions``.
    """

    __slots__ = ("base", "fn", "view", "view_funcs")
    cpp_name = "torch::autograd::CopySlices"

    fn: Node | None

    def __init__(self, base: Tensor, view: Tensor, fn: Node) -> None:
        super().__init__()
        self.base = geometry_of(base)
        self.view = geometry_of(view)
        self.view_funcs = view._view.view_funcs if isinstance(view._view, ReplayedViewMeta) else ()
        self.fn = fn
        self.add_input_metadata(base)
        self.set_next_edges([gradient_edge(base), *fn.next_edges[1:]])

    def apply(self, grads: Gradients) -> Gradients:
        """Run the inner Node. Raise RuntimeError on a second run of a graph that was not kept."""
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_edges)
        fn = self.fn
        if fn is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        size, stride, base_offset = self.base
        result = ops.new_empty_strided.call(grad, size, stride, None, None, None, None)
        ops.copy_.call(result, grad, False)
        if self.view_funcs:
            grad_slice = replay(self.view_funcs, result)
        else:
            view_size, view_stride, view_offset = self.view
            grad_slice = ops.as_strided.call(result, view_size, view_stride, view_offset - base_offset)
        if self.task_should_compute_output(0):
            _add_exec_info(fn.next_edges[0])
        inner = fn.apply([ops.clone.call(grad_slice, "contiguous_format")])
        return self._combine(result, grad_slice, inner)

    def _combine(self, result: Tensor, grad_slice: Tensor, inner: Gradients) -> Gradients:
        """Write the inner Node's output 0 into the slice. The whole result then goes to the base."""
        grad_inputs: Gradients = [None] * len(self.next_edges)
        for i, grad in enumerate(inner):
            if grad is None or not self.task_should_compute_output(i):
                continue
            if i == 0:
                ops.copy_.call(grad_slice, grad, False)
                grad_inputs[0] = result
            else:
                grad_inputs[i] = grad
        return grad_inputs

    def release_variables(self) -> None:
        self.fn = None


def _add_exec_info(edge: Edge) -> None:
    """Let the inner Node compute its output 0 even if the running task does not know the old view."""
    task = thread.state.graph_task
    if task is not None and task.exec_info and edge.function is not None and edge.function not in task.exec_info:
        task.exec_info[edge.function] = ExecInfo()
        task.exec_info[edge.function].needed = True
