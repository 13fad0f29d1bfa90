"""The sentences that say what a recording of an installed PyTorch does not see.

``explain/kinds`` says it again for each kind of event.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.live.kernel_calls import hands_out_kernels

BLIND_SPOTS = (
    "The Python bindings: which signature matched, and what an argument was before it became a tensor.",
    "Structured kernels: their meta and impl functions run within the kernel.",
    "Versions of tensors, but for those that a Node saved.",
    "The engine's counts, ready queues, input buffers and callbacks; sums in input buffers are seen as calls.",
    "When a Node returns, and with what; the next one is seen to begin.",
    "When hooks in C++ run, as those of retain_grad are: what they call is seen.",
    "Hooks from before the recording; those registered while a Node runs, until a hook returns or a backward begins.",
    "Which gradient a tensor's hook returns, where the Node receives several.",
    "That torch.Tensor.retain_grad(y) is called, and that a stale view which retains its gradient gets another Node.",
    "Hooks that pack saved tensors, but for the program's own lines in them.",
    "Why no Node was made; grad mode, inference mode and autocast as switches: their keys are seen.",
    "requires_grad that is set on a tensor which has a name already, or to False, and .grad that is assigned.",
    "What a kernel calls on threads of OpenMP (at::parallel_for): what it calls on the thread that called it is seen.",
    "The Identity for an input of torch.autograd.grad that no edge leads to: AccumulateGrad is told in its place.",
    "Whether a kernel was called boxed or unboxed.",
    "Calls that are given no tensor (torch.atleast_1d()); the Node that the engine puts before several roots.",
    "__torch_dispatch__ that returns NotImplemented, and which is called next; sizes that PyTorch asks a class for.",
    "What torch.compile does while it compiles, and backwards that compiled autograd runs.",
    "torch.jit.trace: what it writes down, and the key Tracer meanwhile.",
    "Function.apply of custom Functions: their lines are seen, their Node when a result gets a name or is used.",
    "In inference mode a view of a number that PyTorch wraps has the keys of an ordinary tensor here.",
    "What _make_subclass and as_subclass call for a class with a __torch_dispatch__.",
    "Fallbacks that the program registers, and what a library that it loads registers for operators that were there.",
    "aten::div_.Tensor_mode, with which numbers are wrapped.",
)
"""The blind spots of every release."""

LIFTED = (
    "What a kernel calls again at its own operator and key: releases before 2.9 do not hand out their kernels.",
    "Kernels while another thread of Python's runs, for the same reason.",
    "What slow_conv_transpose2d and flash attention's backward call on the CPU where PyTorch uses several threads.",
)
"""The blind spots of releases before 2.9, in which our kernels leave their cells while the original kernel runs."""


def blind_spots(torch: Any) -> tuple[str, ...]:
    """Return the blind spots of the installed release."""
    return BLIND_SPOTS if hands_out_kernels(torch._C) else (*BLIND_SPOTS, *LIFTED)
