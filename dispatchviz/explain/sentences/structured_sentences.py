"""Sentences of structured kernels: meta, ``set_output``, impl, proxies."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.event_groups import StructuredEvent
from dispatchviz.explain.sentences.sentence_claims import Dtype, SchemaKind, Shape, StructuredFunction
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import described, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, plain_dtype, shaped


def why(trace: Trace, event: StructuredEvent) -> Statements:
    """What this part of a structured kernel does."""
    match event:
        case ev.MetaEntered():
            return _meta(trace, event)
        case ev.OutputAllocated():
            return (_requested(event), _provided(trace, event), *_proxy(trace, event))
        case ev.ProxyCopied():
            proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.output))
            text = (
                f"The kernel wrote the proxy {proxy}; now copy_ copies the data into {name}, which keeps its own "
                "strides."
            )
            return Statement("proxy copied", text)
        case ev.ImplEntered():
            return _impl(trace, event)
        case _:
            assert_never(event)


def _meta(trace: Trace, event: ev.MetaEntered) -> Statement:
    """What it checks, and which outputs it will request, if it gets that far."""
    claims = (StructuredFunction(event.function),)
    checks = f"Before any data of the result is computed, {event.function} checks the arguments"
    within = list(trace.children(event.seq))
    requested = [f"{shaped(e.shape)} {plain_dtype(e.dtype)}" for e in within if isinstance(e, ev.OutputAllocated)]
    if requested:
        text = f"{checks} and computes the sizes and dtype of the result: {listed(requested)}."
        return Statement("meta computes", text, claims)
    if any(isinstance(e, ev.ErrorRaised) for e in within):
        return Statement("meta raises", f"{checks}, and raises an error.", claims)
    return Statement("meta checks", f"{checks}.", claims)


_METHODS = {
    "set_output_raw_strided": "the kernel can write to any strides",
    "set_output_strided": "the kernel needs exactly these strides",
    "set_output_contiguous": "the kernel needs contiguous memory",
}
"""What the method says by which a meta function declares its output."""


def _requested(event: ev.OutputAllocated) -> Statement:
    strides = _METHODS.get(event.method, "as it needs it")
    return Statement("output requested", f"The meta function declares its output ({event.method}: {strides}).")


def _provided(trace: Trace, event: ev.OutputAllocated) -> Statement:
    """Where the variant takes the output from."""
    name = tensor_name(trace, event.tensor, event.seq)
    what = f"{name}, {described(trace, event.tensor, event.seq)}"
    call = around(trace, event.seq, ev.Dispatched)
    geometry = Shape(event.tensor, event.shape), Dtype(event.tensor, event.dtype)
    if event.variant == "default backend":
        text = (
            "This is the default for backends that have only the out form: create_out calls at::empty through the "
            f"dispatcher and gets {what}. The out form is called next."
        )
        return Statement("output by default", text, geometry)
    claims = (SchemaKind(call.operator, event.variant), *geometry) if call is not None else geometry
    if event.variant == "functional":
        made = f"create_out makes {what}, without another call through the dispatcher"
        return Statement("output created", f"This is the functional form: {made}.", claims)
    if event.variant == "in-place":
        answer = f"check_inplace finds that {name} has the right size and dtype, and the result goes into {name} itself"
        return Statement("output is self", f"This is the in-place form: {answer}.", claims)
    if event.resized:
        text = f"The caller passed out=: resize_out resizes {name} to the size of the result."
        return Statement("output resized", text, claims)
    return Statement("output fits", f"The caller passed out=: {name} already has the right size.", claims)


def _proxy(trace: Trace, event: ev.OutputAllocated) -> tuple[Statement, ...]:
    if event.proxy is None:
        return ()
    proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.tensor))
    stands_in = f"{name} has other strides, so a proxy replaces it for the kernel"
    return (Statement("proxy made", f"{stands_in}: it writes {proxy}, which is copied later."),)


def _impl(trace: Trace, event: ev.ImplEntered) -> Statement:
    made = index(trace).tensors.get(event.tensors[0]) if event.tensors else None
    emulated = made is not None and made.device.startswith("cuda") and trace.header.cuda.startswith("emulated")
    with_numpy = ", here with NumPy, since cuda is emulated" if emulated else ""
    written = listed([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
    text = f"{event.function} writes the result into {written}{with_numpy}."
    return Statement("impl writes", text, (StructuredFunction(event.function),))
