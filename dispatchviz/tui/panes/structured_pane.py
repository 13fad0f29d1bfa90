"""The structured kernel around a step: meta function, the output it requests, impl function, and where we are."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.structured_call import Part, StructuredCall, structured_call
from dispatchviz.explain.locations.native_files import structured_file
from dispatchviz.explain.sentences.english import plain_dtype, shaped
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.tui.panes.next_event import not_yet
from dispatchviz.tui.text.styled_line import PATH, Line, Span, line

VARIANTS = {
    "functional": "a new tensor",
    "in-place": "self",
    "out": "given by the caller",
    "default backend": "a new tensor, by a call through the dispatcher",
}
"""Where the output comes from."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The parts in the order in which they run, or when there will be some."""
    call = structured_call(trace, at)
    if call is None:
        return [not_yet(trace, at, ev.MetaEntered, "No structured kernel runs here")]
    head = line(("structured kernel ", "dim"), (call.kernel.kernel, "bold"), key="kernel", goto=call.kernel.seq)
    return [head, *(_row(trace, call, place, at) for place in range(len(call.parts)))]


def _row(trace: Trace, call: StructuredCall, place: int, at: int) -> Line:
    part, here = call.parts[place], place == call.here
    name, spans = _said(trace, part, at)
    return line(
        ("▶ " if here else "  ", "focus"),
        (f"{name:<10}  ", "dim"),
        *spans,
        key=f"{part.seq}",
        goto=part.seq,
        indent=14,
        here=here,
        shaded=here,
        about=None if (tensor := _written(part)) is None else TensorThing(tensor),
    )


def _written(part: Part) -> int | None:
    """The tensor that a part makes or writes to; of several the first."""
    match part:
        case ev.OutputAllocated():
            return part.tensor
        case ev.ImplEntered():
            return next(iter(part.tensors), None)
        case ev.ProxyCopied():
            return part.output
        case ev.MetaEntered():
            return None


def _said(trace: Trace, part: Part, at: int) -> tuple[str, tuple[Span, ...]]:
    """The name of a part, and what there is to say of it."""
    match part:
        case ev.MetaEntered():
            said = ("checks the arguments, requests the output", "dim")
            return "meta", ((part.function, "bold"), (f"  {structured_file(part.function)}  ", PATH), said)
        case ev.OutputAllocated():
            shape = f"{shaped(part.shape)} {plain_dtype(part.dtype)}" if part.dtype else ""
            resized = ", resized" if part.resized else ""
            proxy = f", impl writes {tensor_name(trace, part.proxy, at)} instead" if part.proxy is not None else ""
            name = tensor_name(trace, part.tensor, at)
            return "set_output", (
                (f"{part.method}  ", "bold"),
                (f"{name} {shape}", "tensor"),
                (f"  {VARIANTS[part.variant]}{resized}{proxy}", "dim"),
            )
        case ev.ImplEntered():
            wrote = ", ".join(tensor_name(trace, tensor, at) for tensor in part.tensors)
            return "impl", (
                (part.function, "bold"),
                (f" writes {wrote}", ""),
                (f"  {structured_file(part.function)}", PATH),
            )
        case ev.ProxyCopied():
            names = [tensor_name(trace, tensor, at) for tensor in (part.proxy, part.output)]
            return "copy", ((f"{names[0]} is copied into {names[1]}", ""),)
