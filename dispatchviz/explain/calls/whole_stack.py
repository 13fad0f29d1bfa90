"""Every function of PyTorch between an operator's entry point and its kernel, as a debug build's backtrace has them.

The short stack (``call_stack.py``) leaves them out: they are the same for every call. Which of them a call goes through
depends on whether the caller has typed arguments or a stack, and whether the kernel takes one or the other
(``aten/src/ATen/core/boxing``). A release build inlines most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.explain.calls.call_stack import Frame, frames_of, programs_frames
from dispatchviz.explain.codegen.generated_files import ATEN, AUTOGRAD
from dispatchviz.explain.locations.pytorch_locations import DISPATCHER

BOXING = "aten/src/ATen/core/boxing"
KERNEL_FUNCTION = f"{BOXING}/KernelFunction_impl.h"
BOXED_KERNEL = f"{BOXING}/BoxedKernel_impl.h"
WRAPPER = f"{BOXING}/impl/boxing.h"
ADAPTER = f"{BOXING}/impl/make_boxed_from_unboxed_functor.h"


class Inner(NamedTuple):
    """A function that every such call goes through."""

    function: str
    """With ``{how}`` for the method of the dispatcher: ``call``, ``redispatchBoxed``."""
    file: str
    role: str


TYPED_KERNEL = (
    Inner("c10::callUnboxedKernelFunction", KERNEL_FUNCTION, "kernel function"),
    Inner("c10::impl::wrap_kernel_functor_unboxed_::call", ADAPTER, "adapter"),
)
BOXED_CALL = Inner("c10::BoxedKernel::callBoxed", BOXED_KERNEL, "kernel function")
FROM_TYPED = (
    Inner("c10::TypedOperatorHandle::{how}", DISPATCHER, "handle"),
    Inner("c10::Dispatcher::{how}", DISPATCHER, "dispatcher"),
    Inner("c10::KernelFunction::call", KERNEL_FUNCTION, "kernel function"),
)
FROM_STACK = (
    Inner("c10::OperatorHandle::{how}", DISPATCHER, "handle"),
    Inner("c10::Dispatcher::{how}", DISPATCHER, "dispatcher"),
    Inner("c10::KernelFunction::callBoxed", KERNEL_FUNCTION, "kernel function"),
    BOXED_CALL,
)

INNER: Mapping[tuple[bool, bool], tuple[Inner, ...]] = {
    (False, False): (*FROM_TYPED, *TYPED_KERNEL),
    (False, True): (*FROM_TYPED, Inner("c10::impl::BoxedKernelWrapper::call", WRAPPER, "boxing"), BOXED_CALL),
    (True, True): FROM_STACK,
    (True, False): (
        *FROM_STACK,
        Inner("c10::impl::make_boxed_from_unboxed_functor::call", ADAPTER, "unboxing"),
        Inner("c10::impl::call_functor_with_args_from_stack", ADAPTER, "unboxing"),
        TYPED_KERNEL[1],
    ),
}
"""By whether the caller has its arguments on a stack, and whether the kernel takes them from one."""

VARIABLE_TYPE = f"{AUTOGRAD}/VariableType_"
"""Generated autograd kernels hand on through ``at::redispatch``; those of ADInplaceOrView and the tracer call
``at::_ops::X::redispatch`` themselves, and so do some that are written by hand."""


def whole_stack(trace: Trace, seq: int) -> tuple[Frame, ...]:
    """All frames around step ``seq``, outermost first: the short stack's and those between."""
    events = [*reversed(list(trace.ancestors(seq))), trace[seq]]
    found, caller = list(programs_frames(trace, seq)), ""
    for event in events:
        frames = list(frames_of(trace, event))
        if isinstance(event, ev.Dispatched):
            frames = [*_api(event, caller), *map(_entry, frames)]
        elif isinstance(event, ev.KernelEntered):
            found[-1:] = _between(trace, event, found[-1])
            caller = event.pytorch_file
        found += frames
    return tuple(found)


def _entry(frame: Frame) -> Frame:
    """An operator's own function is not the dispatcher's, which has a frame here."""
    return replace(frame, role="operator") if frame.title.startswith("at::_ops::") else frame


def _api(call: ev.Dispatched, caller: str) -> Iterator[Frame]:
    """``at::redispatch::add``, by the file of the kernel that hands the key set on."""
    name = call.operator.removeprefix("aten::")
    if call.how == "redispatch" and caller.startswith(VARIABLE_TYPE) and name != call.operator:
        yield Frame(f"at::redispatch::{api_name(name)}", f"{ATEN}/RedispatchFunctions.h", call.seq, "API")


def api_name(operator: str) -> str:
    """``view_symint`` of ``view``, ``add_outf`` of ``add.out``: the C++ function that generated kernels call.

    ``torchgen/api/cpp.py``, ``name``: a C++ function has no overload's name, one with SymInts has a suffix, one that
    takes ``out`` last another.
    """
    from dispatchviz.core.table.pytorch_registrations import pytorch_schema  # brings all of the table

    arguments = FunctionSchema.parse(pytorch_schema(f"aten::{operator}")).arguments
    symint = "_symint" if any("SymInt" in argument.type for argument in arguments) else ""
    out = "_outf" if any(argument.kwarg_only and argument.is_write for argument in arguments) else ""
    return f"{operator.partition('.')[0]}{symint}{out}"


def _between(trace: Trace, kernel: ev.KernelEntered, entry: Frame) -> list[Frame]:
    """From the entry point to the kernel; a call through the dispatcher itself has its handle before that."""
    call = trace[kernel.parent] if kernel.parent is not None else None
    if not isinstance(call, ev.Dispatched):
        return [entry]
    stack = "Boxed" in call.how
    boxed = not _follows(trace, kernel.seq, ev.Unboxed) if stack else _follows(trace, kernel.seq, ev.Boxed)
    inner = [Frame(each.function.format(how=call.how), each.file, call.seq, each.role) for each in INNER[stack, boxed]]
    return inner if entry.title in (frame.title for frame in inner) else [entry, *inner]


def _follows(trace: Trace, seq: int, kind: type[ev.Event]) -> bool:
    """Whether the next step is of a kind: what the kernel needs is made of the arguments before all else."""
    return seq + 1 < len(trace) and isinstance(trace[seq + 1], kind) and trace[seq + 1].parent == seq
