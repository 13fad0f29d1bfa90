"""Every function of PyTorch between an operator's entry point and its kernel, as in the backtrace of a debug build.

The short stack (``call_stack.py``) leaves them out, because they are the same for every call. The path of a call
depends on whether the caller has typed arguments or a stack, and whether the kernel takes one or the other
(``aten/src/ATen/core/boxing``). A release build inlines most of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.binding_frames import (
    binding_frames,
    cpp_name,
    is_python,
    note_of,
    pytorch_signature,
    takes_out,
    torch_ops_frames,
)
from dispatchviz.explain.calls.call_stack import CALLS_PYTHON, GENERATED_FOLDERS, Frame, frames_of, programs_frames
from dispatchviz.explain.calls.engine_frames import backward_frames, node_frames, within_node
from dispatchviz.explain.calls.hook_frames import hook_caller
from dispatchviz.explain.calls.kernel_frames import kernel_below, native_function
from dispatchviz.explain.calls.stack_text import stack_at, stack_values
from dispatchviz.explain.codegen.generated_files import ATEN, AUTOGRAD
from dispatchviz.explain.locations.pytorch_locations import DISPATCHER, PYTHON_DISPATCH
from dispatchviz.explain.trace_index.enclosing_steps import caller

BOXING = "aten/src/ATen/core/boxing"
KERNEL_FUNCTION = f"{BOXING}/KernelFunction_impl.h"
BOXED_KERNEL = f"{BOXING}/BoxedKernel_impl.h"
WRAPPER = f"{BOXING}/impl/boxing.h"
ADAPTER = f"{BOXING}/impl/make_boxed_from_unboxed_functor.h"


class Inner(NamedTuple):
    """A function that all calls of a kind go through."""

    function: str
    """The name, with ``{how}`` for the method of the dispatcher: ``call``, ``redispatchBoxed``."""
    file: str
    role: str


TYPED_KERNEL = (
    Inner("c10::callUnboxedKernelFunction", KERNEL_FUNCTION, "kernel function"),
    Inner("c10::impl::wrap_kernel_functor_unboxed_::call", ADAPTER, "adapter"),
)
FUNCTOR = Inner(
    "c10::impl::detail::WrapFunctionIntoFunctor_::operator()", f"{BOXING}/impl/WrapFunctionIntoFunctor.h", "adapter"
)
"""The functor around a function that is known when PyTorch is compiled, as for all generated kernels."""
BOXED_CALL = Inner("c10::BoxedKernel::callBoxed", BOXED_KERNEL, "kernel function")
BOXED_FUNCTION = Inner("c10::BoxedKernel::make_boxed_function", BOXED_KERNEL, "adapter")
"""The functor around a boxed C++ kernel."""
PYTHON_KERNEL = Inner("torch::impl::dispatch::PythonKernelHolder::operator()", PYTHON_DISPATCH, "calls Python")
"""The functor of a kernel that is a Python function: it pops the arguments and pushes the results of Python."""
WITH_KEY_SET = Inner("torch::impl::dispatch::pyobject_dispatch_call_python_with_keyset", PYTHON_DISPATCH, "dispatcher")
"""The function that passes the key set before Python objects, to a kernel or to ``redispatch_boxed``."""
REDISPATCH_BOXED = (
    Inner("pybind11::cpp_function::dispatcher", "third_party/pybind11/include/pybind11/pybind11.h", "binding"),
    Inner("torch::impl::dispatch::initDispatchBindings::{{lambda}}", PYTHON_DISPATCH, "binding"),
)
TAKE_KEY_SETS = ("autograd_impl", "adinplaceorview_impl", "backend_select", "kernel")
"""The Python kernels of custom operators that take a key set."""
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

STACK = "the Stack: {values}"
BOXES = "c10::impl::boxArgs pushes the arguments onto a Stack: {values}"
"""The note on the first frame that has a stack."""

WRAPPED = Inner("c10::impl::BoxedKernelWrapper::call", WRAPPER, "boxing")

INNER: Mapping[tuple[bool, bool], tuple[Inner, ...]] = {
    (False, False): (*FROM_TYPED, *TYPED_KERNEL),
    (False, True): (*FROM_TYPED, WRAPPED, BOXED_CALL),
    (True, True): FROM_STACK,
    (True, False): (
        *FROM_STACK,
        Inner("c10::impl::make_boxed_from_unboxed_functor::call", ADAPTER, "unboxing"),
        Inner("c10::impl::call_functor_with_args_from_stack", ADAPTER, "unboxing"),
        TYPED_KERNEL[1],
    ),
}
"""The functions by whether the caller has its arguments on a stack, and whether the kernel takes them from one."""

VARIABLE_TYPE = f"{AUTOGRAD}/VariableType_"
"""The autograd kernels that redispatch through ``at::redispatch``. Those of ADInplaceOrView and the tracer, and some
hand-written ones, call ``at::_ops::X::redispatch`` themselves.
"""

WITH_LAMBDA = (VARIABLE_TYPE, f"{AUTOGRAD}/ADInplaceOrViewType_")
"""The generated kernels that redispatch within a lambda, which has the guard, unless they write to an argument."""

FALLBACKS = {
    "autograd_fallback": (
        "torch::autograd::VariableHooks::basic_autograd_not_implemented_fallback",
        "torch/csrc/autograd/autograd_not_implemented_fallback.cpp",
    )
}
"""The kernels that have another function do their work."""


@lru_cache(maxsize=4)
def whole_stack(trace: Trace, seq: int) -> tuple[Frame, ...]:
    """All frames around step ``seq``, outermost first: those of the short stack and those between them."""
    events = [*reversed(list(trace.ancestors(seq))), trace[seq]]
    lines, found = deque(programs_frames(trace, seq)), list[Frame]()
    around: ev.AnyEvent | None = None
    guards: list[Frame] = []
    for event in events:
        frames = list(frames_of(trace, event, seq))
        if isinstance(event, ev.GuardEntered):
            guards = list(_guard(trace, event))
        elif frames:
            inside = _inside(trace, around, found[-1]) if around is not None and event.parent is not None else ()
            found += [*inside, *guards, *_before(lines, event.seq)]
            found += _frames(trace, event, frames, found, seq)
            around, guards = None if frames[-1].role == CALLS_PYTHON else event, []
    if lines and around is not None and lines[0].seq > around.seq:
        found += _inside(trace, around, found[-1])
    return (*found, *lines)


def _before(lines: deque[Frame], seq: int) -> Iterator[Frame]:
    """Take the lines of the program that were running when a step was reached."""
    while lines and lines[0].seq < seq:
        yield lines.popleft()


def called_below(trace: Trace, seq: int, around: Sequence[Frame]) -> tuple[Frame, ...]:
    """The functions that step ``seq`` is known to call and that have no step in the trace.

    ``around`` is the whole stack of that step.
    """
    event = trace[seq]
    frames = list(_inside(trace, event, around[-1])) if around and around[-1].seq == seq else []
    return (*frames, *(kernel_below(trace, event) if isinstance(event, ev.ImplEntered) else ()))


def _frames(trace: Trace, event: ev.AnyEvent, frames: list[Frame], found: list[Frame], seq: int) -> Sequence[Frame]:
    """The frames of an event on the stack of step ``seq``, and those between them and the frame before."""
    match event:
        case ev.BindingEntered() | ev.Dispatched():
            return _from_caller(trace, event.seq)
        case ev.KernelEntered():
            entry = found.pop()
            return (*_between(trace, event.seq, entry), *frames)
        case ev.BackwardStarted():
            return tuple(backward_frames(frames))
        case ev.NodeStarted():
            return tuple(node_frames(event, frames, hook_caller(trace, event, seq)))
        case _:
            return frames


@lru_cache(maxsize=64)
def _from_caller(trace: Trace, seq: int) -> Sequence[Frame]:
    """The frames of a binding, or of a call from its entry point on, which are the same at all steps within it."""
    event, frames = trace[seq], frames_of(trace, trace[seq], seq)
    if isinstance(event, ev.Dispatched):
        return (*_to_operator(trace, event), *map(_entry, frames))
    assert isinstance(event, ev.BindingEntered)
    return tuple(replace(frame, note=note_of(event)) for frame in frames)


def _inside(trace: Trace, around: ev.AnyEvent, last: Frame) -> Iterator[Frame]:
    """Yield the functions that an entered function calls before the next step that is a call."""
    match around:
        case ev.NodeStarted():
            yield from within_node(around, last)
        case ev.KernelEntered() if around.kernel in FALLBACKS:
            yield Frame(*FALLBACKS[around.kernel], around.seq, last.role)
        case ev.KernelEntered() if function := native_function(_operator(trace, around), around.kernel):
            yield Frame(*function, around.seq, "native function")
        case _:
            return


def _operator(trace: Trace, kernel: ev.KernelEntered) -> str:
    """The operator of a kernel; empty if the dispatcher does not call it."""
    call = trace[kernel.parent] if kernel.parent is not None else None
    return call.operator if isinstance(call, ev.Dispatched) else ""


def _guard(trace: Trace, guard: ev.GuardEntered) -> Iterator[Frame]:
    """Yield the lambda in which a generated kernel redispatches, with the guard in it."""
    kernel = trace[guard.parent] if guard.parent is not None else None
    if not isinstance(kernel, ev.KernelEntered) or not kernel.pytorch_file.startswith(WITH_LAMBDA):
        return
    if guard.guard.startswith("AutoDispatchBelow") and has_lambda(_operator(trace, kernel)):
        note = f"at::{guard.guard} changes the thread-local exclude set until it returns"
        yield Frame(f"{kernel.kernel}::{{lambda}}", kernel.pytorch_file, guard.seq, "guard", note)


def has_lambda(operator: str) -> bool:
    """Return whether a generated kernel redispatches in a lambda: its operator returns a value, and is not in-place or
    out.

    ``tools/autograd/gen_variable_type.py``, ``emit_call``; ``tools/autograd/gen_inplace_or_view_type.py``.
    """
    schema, base = pytorch_signature(operator), operator.removeprefix("aten::").partition(".")[0]
    if schema is None:
        return False
    return bool(schema.returns) and not takes_out(schema) and not is_in_place(base)


def is_in_place(base: str) -> bool:
    """Return whether a base name is in-place: ``add_``, ``__iand__`` (``torchgen/model.py``,
    ``BaseOperatorName.parse``).
    """
    return base.startswith("__i") if base.startswith("__") and base.endswith("__") else base.endswith("_")


def _entry(frame: Frame) -> Frame:
    """Return the frame with the role ``operator`` if it is an operator's own function."""
    return replace(frame, role="operator") if frame.title.startswith("at::_ops::") else frame


def _to_operator(trace: Trace, call: ev.Dispatched) -> Iterator[Frame]:
    """Yield the frames that call the entry point: the binding's lambda, the C++ API, ``torch.ops``."""
    by = caller(trace, call.seq)
    if isinstance(by, ev.BindingEntered):
        yield from binding_frames(by, call)
    elif _is_autograds(by) and call.how == "redispatch" and call.operator.startswith("aten::"):
        name = api_name(call.operator.removeprefix("aten::"))
        yield Frame(f"at::redispatch::{name}", f"{ATEN}/RedispatchFunctions.h", call.seq, "API")
    yield from torch_ops_frames(by, call)


def _is_autograds(by: ev.AnyEvent | None) -> bool:
    return isinstance(by, ev.KernelEntered) and by.pytorch_file.startswith(VARIABLE_TYPE)


def api_name(operator: str) -> str:
    """The C++ function that generated kernels call: ``view_symint`` for ``view``, ``add_outf`` for ``add.out``.

    It takes ``out`` last.
    """
    schema = pytorch_signature(f"aten::{operator}")
    return operator.partition(".")[0] if schema is None else cpp_name(schema, "_outf")


@lru_cache(maxsize=64)
def _between(trace: Trace, seq: int, entry: Frame) -> Sequence[Frame]:
    """The frames from the entry point to a kernel, which are the same at all steps within it. A call through the
    dispatcher itself has its handle before them.
    """
    kernel = trace[seq]
    call = trace[kernel.parent] if kernel.parent is not None else None
    if not isinstance(call, ev.Dispatched) or not isinstance(kernel, ev.KernelEntered):
        return (entry,)
    boxed = call.passes_objects or "Boxed" in call.how
    parts = _parts_with_objects(trace, kernel) if call.passes_objects else _parts(trace, kernel, boxed)
    how = "redispatchBoxed" if call.passes_objects else call.how
    inner = [Frame(each.function.format(how=how), each.file, call.seq, each.role) for each in parts]
    inner = _with_stack(trace, call, inner)
    return inner if entry.title in (frame.title for frame in inner) else (entry, *inner)


def _with_stack(trace: Trace, call: ev.Dispatched, inner: list[Frame]) -> list[Frame]:
    """The frames of a call, with the content of its stack as a note on the first frame that has one."""
    recorded = stack_at(trace, call)
    if recorded is None or not (values := stack_values(trace, recorded)):
        return inner
    boxes = next((at for at, frame in enumerate(inner) if frame.title == WRAPPED.function), None)
    first, text = (0, STACK) if boxes is None else (boxes, BOXES)
    if boxes is None and "Boxed" not in call.how:
        return inner
    noted = replace(inner[first], note=text.format(values=", ".join(values)))
    return [*inner[:first], noted, *inner[first + 1 :]]


def _parts_with_objects(trace: Trace, kernel: ev.KernelEntered) -> tuple[Inner, ...]:
    """The functions from a call with Python objects to its kernel. A kernel of C++ gets a stack."""
    if not is_python(kernel):
        return (WITH_KEY_SET, *REDISPATCH_BOXED, *_parts(trace, kernel, stack=True))
    return (WITH_KEY_SET,) if kernel.kernel in TAKE_KEY_SETS else ()


def _parts(trace: Trace, kernel: ev.KernelEntered, stack: bool) -> tuple[Inner, ...]:
    """The functions from a caller, with or without a stack, to a kernel of either kind. The innermost is of the
    kernel's kind.
    """
    if is_python(kernel):
        return (*INNER[stack, True], PYTHON_KERNEL)
    boxed = not _follows(trace, kernel.seq, ev.Unboxed) if stack else _follows(trace, kernel.seq, ev.Boxed)
    generated = kernel.pytorch_file.startswith(GENERATED_FOLDERS)
    own = (BOXED_FUNCTION,) if boxed else (FUNCTOR,) if generated else ()
    return (*INNER[stack, boxed], *own)


def _follows(trace: Trace, seq: int, kind: type[ev.Event]) -> bool:
    """Return whether the next step is of a kind: a kernel first prepares its arguments.

    A tensor that no event has named is introduced even before that.
    """
    at = seq + 1
    while at < len(trace) and isinstance(trace[at], ev.TensorCreated):
        at += 1
    return at < len(trace) and isinstance(trace[at], kind) and trace[at].parent == seq
