"""The sentences that say what a recording of an installed PyTorch does not see.

``explain/kinds`` says it again for each kind of event.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.live.compiled_regions import compiler_is_watched
from dispatchviz.live.kernel_calls import hands_out_kernels

BLIND_SPOTS = (
    "The Python bindings: which signature matched, and the original value of an argument that became a tensor.",
    "Structured kernels: their meta and impl functions run within the kernel.",
    "Versions of tensors, except those that a Node saved.",
    "Writes to memory outside of calls (by NumPy, by compiled code), until a call uses a tensor on that memory.",
    "The numbers of tensors on a GPU and of tensors without strided memory of their own (sparse, quantized, wrappers).",
    "The engine's counts, ready queues, input buffers and callbacks; sums in input buffers are seen as calls.",
    "When a Node returns, and its result. The beginning of the next Node is seen.",
    "When C++ hooks run, such as those of retain_grad. The operators that they call are seen.",
    "Hooks from before the recording. Hooks registered while a Node runs, until a hook returns or a backward begins.",
    "The gradient that a tensor's hook returns, if the Node receives several.",
    "Calls of torch.Tensor.retain_grad(y), and the new Node of a stale view that retains its gradient.",
    "Hooks that pack saved tensors, except the program's own lines in them.",
    "Why no Node was made, unless grad mode is off. Changes of inference mode and autocast; their keys are seen.",
    "requires_grad that is set to False or on a tensor that already has a name, and assignments to .grad.",
    "Calls that a kernel makes on threads of OpenMP (at::parallel_for). Its calls on its own thread are seen.",
    "The Identity for an input of torch.autograd.grad that no edge leads to. AccumulateGrad is recorded in its place.",
    "Whether a kernel was called boxed or unboxed.",
    "Calls without any tensor (torch.atleast_1d()), and the Node that the engine puts before several roots.",
    "A __torch_dispatch__ that returns NotImplemented, and the one called next. Sizes that PyTorch asks a class for.",
    "Operators that torch.compile calls while it compiles, and those of backwards that compiled autograd runs.",
    "The graph that torch.jit.trace records, and the key Tracer meanwhile.",
    "Function.apply of custom Functions. Their lines are seen, and their Node once a result gets a name or is used.",
    "The keys of a view of a wrapped number in inference mode. The recording shows those of an ordinary tensor.",
    "Operators that _make_subclass and as_subclass call for a class with a __torch_dispatch__.",
    "Fallbacks that the program registers, and kernels that a loaded library registers for existing operators.",
    "Python kernels from before the recording, unless pytest followed their registration.",
    "aten::div_.Tensor_mode, with which the recorder wraps numbers.",
)
"""The blind spots of every release."""

COMPILER = ("The steps of torch.compile: guards, graph breaks, graphs, and the calls of compiled regions.",)
"""The blind spot of releases before 2.13, in which the compiler's functions have other names."""

LIFTED = (
    "Calls that a kernel makes to its own operator and key, because releases before 2.9 do not hand out their kernels.",
    "Kernels that run while another Python thread runs, for the same reason.",
    "Calls by slow_conv_transpose2d and flash attention's backward on the CPU if PyTorch uses several threads.",
)
"""The blind spots of releases before 2.9, in which our kernels leave their cells while the original kernel runs."""


def blind_spots(torch: Any) -> tuple[str, ...]:
    """Return the blind spots of the installed release."""
    compiler = () if compiler_is_watched(torch) else COMPILER
    return (*BLIND_SPOTS, *compiler, *(() if hands_out_kernels(torch._C) else LIFTED))
