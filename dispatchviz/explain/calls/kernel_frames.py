"""The functions that a registered kernel calls and that are no step of a trace: the native function, the stub, the
loop.

A generated wrapper calls the function that ``native_functions.yaml`` names: ``torchgen/dest/register_dispatch_key.py``.
Below an impl function only the certain frames are shown: those of ``add``, which ``torchgen/dest/ufunc.py`` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import Frame
from dispatchviz.explain.codegen.definitions import FUNCTIONS, dispatched_to, entry, entry_field
from dispatchviz.explain.codegen.generated_files import ATEN, header

_WRAPPER = re.compile(r"wrapper_(CPU|CUDA|Meta|CompositeExplicitAutograd|CompositeImplicitAutograd)_\w+")

LOOPS = "aten/src/ATen/native/cpu/Loops.h"
ITERATOR = "aten/src/ATen/TensorIterator.cpp"

STUBS = {
    "structured_ufunc_add_CPU::impl": (
        ("at::native::DispatchStub::operator()", "aten/src/ATen/native/DispatchStub.h", "stub"),
        ("at::native::add_kernel", f"{ATEN}/UfuncCPUKernel_add.cpp", "stub"),
        ("at::native::add_kernel::{lambda}", f"{ATEN}/UfuncCPUKernel_add.cpp", "stub"),
        ("at::native::cpu_kernel_vec", LOOPS, "loop"),
        ("at::TensorIteratorBase::for_each", ITERATOR, "loop"),
    ),
}
"""The impl functions whose way to the loop is known."""

STUB_NOTES = {
    "at::native::DispatchStub::operator()": "add_stub: the function that fits the device and the CPU",
    "at::native::add_kernel::{lambda}": "AT_DISPATCH_SWITCH: the case of the dtype",
}

NOT_VECTORIZED = {"torch.bool": "at::native::cpu_kernel"}
"""The dtypes for which ``ufunc_inner_loop`` has no vectorized loop."""


OTHER_NAMES = {
    ("arange.start_step", "CompositeExplicitAutograd"): "arange",
    ("arange.start_out", "CPU"): "arange_out",
    ("arange.start_out", "CUDA"): "arange_cuda_out",
    ("as_strided", "Meta"): "as_strided_tensorimpl_meta_symint",
    ("broadcast_to", "CompositeImplicitAutograd"): "broadcast_to_symint",
    ("empty.memory_format", "Meta"): "empty_meta_symint",
    ("new_empty", "CompositeExplicitAutograd"): "new_empty_symint",
    ("resize_", "Meta"): "resize__symint",
    ("empty_strided", "Meta"): "empty_strided_meta_symint",
    ("reshape", "CompositeImplicitAutograd"): "reshape_symint",
    ("_efficientzerotensor", "Meta"): "_efficientzerotensor_meta_symint",
    ("zeros", "CompositeExplicitAutograd"): "zeros_symint",
    ("slice_scatter.out", "CompositeExplicitAutograd"): "slice_scatter_out_symint",
    ("as_strided_copy.out", "CompositeExplicitAutograd"): "as_strided_copy_out_symint",
    ("expand_copy.out", "CompositeExplicitAutograd"): "expand_copy_out_symint",
    ("_reshape_alias_copy.out", "CompositeExplicitAutograd"): "_reshape_alias_copy_out_symint",
    ("select_copy.int_out", "CompositeExplicitAutograd"): "select_copy_int_out_symint",
    ("slice_copy.Tensor_out", "CompositeExplicitAutograd"): "slice_copy_Tensor_out_symint",
    ("view_copy.out", "CompositeExplicitAutograd"): "view_copy_out_symint",
}
"""The function by operator and key, where PyTorch's yaml file names another function than ours."""


def native_function(operator: str, kernel: str) -> tuple[str, str] | None:
    """The name and header of the function that a generated wrapper calls: ``at::native::sum``; None for a structured
    kernel, and if our yaml file does not name it.
    """
    wrapper, name = _WRAPPER.fullmatch(kernel), operator.removeprefix("aten::")
    own = entry(FUNCTIONS, name)
    if wrapper is None or own is None or entry_field(own, "structured") or entry_field(own, "structured_delegate"):
        return None
    called = OTHER_NAMES.get((name, wrapper[1])) or dispatched_to(own).get(wrapper[1])
    return None if called is None else (f"at::native::{called}", header(name.partition(".")[0], "_native"))


def kernel_below(trace: Trace, impl: ev.ImplEntered) -> Iterator[Frame]:
    """Yield the frames from an impl function to the loop."""
    for function, file, role in STUBS.get(impl.function, ()):
        title = NOT_VECTORIZED.get(_dtype(trace, impl), function) if function.endswith("_vec") else function
        yield Frame(title, file, impl.seq, role, STUB_NOTES.get(function, ""))


def _dtype(trace: Trace, impl: ev.ImplEntered) -> str:
    """The dtype of the output that the meta function requested."""
    made = (
        event for step in range(impl.seq, impl.parent or 0, -1) if isinstance(event := trace[step], ev.OutputAllocated)
    )
    return next((event.dtype for event in made), "")
