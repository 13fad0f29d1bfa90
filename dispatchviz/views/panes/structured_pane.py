"""The structured kernel at a step: its meta function, the output that it requests, its impl function, and the current
position. Below are the classes: the one that the wrapper instantiates, its bases, and the differences of its other
forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.structured_call import (
    Part,
    StructuredCall,
    class_of_call,
    does,
    family_of_call,
    structured_call,
)
from dispatchviz.explain.codegen.class_tree import class_branches
from dispatchviz.explain.codegen.structured_classes import OUTPUTS, Family, StructuredClass
from dispatchviz.explain.kinds.all_kinds import unseen
from dispatchviz.explain.locations.native_files import native_calls, structured_file
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.foundation.english import plain_dtype, shaped
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.styled_line import PATH, Line, Span, line

VARIANTS = {
    "functional": "a new tensor",
    "in-place": "self",
    "out": "given by the caller",
    "default backend": "a new tensor, by a call through the dispatcher",
}
"""The origin of the output."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the parts in the order in which they run, or the step at which there are some."""
    call = structured_call(trace, at)
    if is_unseen(trace.header, ev.MetaEntered):
        return [line((unseen(ev.MetaEntered), "dim"))]
    if call is None:
        return [not_yet(trace, at, ev.MetaEntered, "No structured kernel runs here")]
    made = class_of_call(trace, call)
    of = ((" makes ", "dim"), (f"{made.name} op", "bold"), (f"  {_file(made)}", PATH)) if made else ()
    head = line(
        ("structured kernel ", "dim"), (call.kernel.kernel, "bold"), *of, key="kernel", goto=call.kernel.seq, indent=18
    )
    rows = (_rows_of(trace, call, made, place, at) for place in range(len(call.parts)))
    return [head, *chain.from_iterable(rows), *_classes(trace, call, made)]


def _classes(trace: Trace, call: StructuredCall, made: StructuredClass | None) -> Iterator[Line]:
    """Yield the tree of the classes."""
    family = family_of_call(trace, call)
    if family is None or made is None:
        return
    yield line(("classes, each below its base", "dim"), key="classes")
    branches = class_branches(family, made)
    widest = max(len(branch.lines) + len(branch.of.name) for branch in branches)
    for branch in branches:
        here = branch.of == made
        yield line(
            ("● " if here else "  ", "focus"),
            (branch.lines, "dim"),
            (branch.of.name, "bold" if here else ""),
            (" " * (widest + 2 - len(branch.lines) - len(branch.of.name)), ""),
            (_adds(family, branch.of), "dim"),
            key=f"class {branch.of.name}",
            cut=True,
        )


def _adds(family: Family, each: StructuredClass) -> str:
    """The members that only this class has, in short."""
    wrapper = family.wrapper(each.key, each.form) if each.form else None
    if wrapper is not None:
        return f"{wrapper.operator}: {OUTPUTS[each.form]}"
    return ", ".join(dict.fromkeys(member.name.partition("(")[0] for member in each.members))


def _file(made: StructuredClass) -> str:
    return made.file.rpartition("/")[2]


def _rows_of(trace: Trace, call: StructuredCall, made: StructuredClass | None, place: int, at: int) -> Iterator[Line]:
    """Yield a part, and below it the class whose member function runs, if its name does not show that."""
    part = call.parts[place]
    yield _row(trace, call, place, at)
    if called := _calls(part):
        yield line((f"{'':14}", ""), (f"calls {', '.join(called)}", "dim"), key=f"{part.seq} calls", indent=14)
    if spans := _member(part, made):
        yield line((f"{'':14}", ""), *spans, key=f"{part.seq} class", goto=part.seq, indent=14)


def _calls(part: Part) -> tuple[str, ...]:
    """The functions that a part calls: the one that builds the iterator, and the stubs."""
    return native_calls(part.function) if isinstance(part, ev.MetaEntered | ev.ImplEntered) else ()


def _row(trace: Trace, call: StructuredCall, place: int, at: int) -> Line:
    part, here = call.parts[place], place == call.here
    name, spans = _description(trace, part, at)
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


def _member(part: Part, made: StructuredClass | None) -> tuple[Span, ...]:
    if made is None or not isinstance(part, ev.OutputAllocated | ev.ProxyCopied):
        return ()
    file = (f"  {_file(made)}", PATH)
    if isinstance(part, ev.ProxyCopied):
        return (("in the wrapper: op.outputs_[i].get().copy_(*op.proxy_outputs_[i])", "dim"), file)
    contiguous = part.method == "set_output_contiguous"
    method = "set_output_strided" if contiguous else part.method
    by = "at::impl::MetaBase's, which calls " if contiguous else ""
    return ((f"{by}{made.name}::{method}", "bold"), file, (f"  {does(made, method)}", "dim"))


def _written(part: Part) -> int | None:
    """The tensor that a part creates or writes to; the first of several."""
    match part:
        case ev.OutputAllocated():
            return part.tensor
        case ev.ImplEntered():
            return next(iter(part.tensors), None)
        case ev.ProxyCopied():
            return part.output
        case ev.MetaEntered():
            return None


def _description(trace: Trace, part: Part, at: int) -> tuple[str, tuple[Span, ...]]:
    """The name of a part, and the spans that describe it."""
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
