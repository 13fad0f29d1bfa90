"""Structured kernels: meta, ``set_output``, impl, proxies."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Rule, unseen
from dispatchviz.explain.locations.native_files import structured_file
from dispatchviz.explain.sentences.sentence_claims import Dtype, SchemaKind, Shape, StructuredFunction
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import described, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, plain_dtype, shaped, shortened

_STRUCTURED = "a structured kernel calls its meta and impl functions itself"


def _meta(trace: Trace, event: ev.MetaEntered) -> Statement:
    """Name the checks of a meta function, and list the outputs that it requests unless it raises an error."""
    claims = (StructuredFunction(event.function),)
    checks = f"{event.function} checks the arguments"
    within = list(trace.children(event.seq))
    requested = [f"{shaped(e.shape)} {plain_dtype(e.dtype)}" for e in within if isinstance(e, ev.OutputAllocated)]
    if requested:
        text = (
            f"{checks} and computes the sizes and dtype of the result, {listed(requested)}, before any data is "
            "computed."
        )
        return Statement("meta computes", text, claims)
    if any(isinstance(e, ev.ErrorRaised) for e in within):
        return Statement("meta raises", f"{checks} and raises an error, before any data is computed.", claims)
    return Statement("meta checks", f"{checks} before any data of the result is computed.", claims)


_METHODS = {
    "set_output_raw_strided": "the kernel can write to any strides",
    "set_output_strided": "the kernel needs exactly these strides",
    "set_output_contiguous": "the kernel needs contiguous memory",
}
"""The strides that a kernel can handle, for each method that declares an output."""


def _requested(event: ev.OutputAllocated) -> Statement:
    strides = _METHODS.get(event.method, "the kernel states the strides that it needs")
    return Statement("output requested", f"The meta function declares its output with {event.method}: {strides}.")


def _provided(trace: Trace, event: ev.OutputAllocated) -> Statement:
    """The tensor that the variant provides as output."""
    name = tensor_name(trace, event.tensor, event.seq)
    what = f"{name}, {described(trace, event.tensor, event.seq)}"
    call = around(trace, event.seq, ev.Dispatched)
    geometry = Shape(event.tensor, event.shape), Dtype(event.tensor, event.dtype)
    if event.variant == "default backend":
        text = (
            "This is the default for backends that have only the out form. create_out calls at::empty through the "
            f"dispatcher and gets {what}. The out form is called next."
        )
        return Statement("output by default", text, geometry)
    claims = (SchemaKind(call.operator, event.variant), *geometry) if call is not None else geometry
    if event.variant == "functional":
        made = f"create_out creates {what}, without another call through the dispatcher"
        return Statement("output created", f"This is the functional form, so {made}.", claims)
    if event.variant == "in-place":
        answer = f"check_inplace finds that {name} has the right size and dtype, so the result goes into {name} itself"
        return Statement("output is self", f"This is the in-place form. {answer}.", claims)
    if event.resized:
        text = f"The caller passed out=, so resize_out resizes {name} to the size of the result."
        return Statement("output resized", text, claims)
    return Statement("output fits", f"The caller passed out=, and {name} already has the right size.", claims)


def _proxy(trace: Trace, event: ev.OutputAllocated) -> tuple[Statement, ...]:
    if event.proxy is None:
        return ()
    proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.tensor))
    text = f"{name} has other strides, so the kernel writes to a proxy, {proxy}, which is copied into {name} later."
    return (Statement("proxy made", text),)


def _impl(trace: Trace, event: ev.ImplEntered) -> Statement:
    made = index(trace).tensors.get(event.tensors[0]) if event.tensors else None
    emulated = made is not None and made.device.startswith("cuda") and trace.header.cuda.startswith("emulated")
    with_numpy = ", with NumPy because cuda is emulated" if emulated else ""
    written = listed([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
    text = f"{event.function} writes the result into {written}{with_numpy}."
    return Statement("impl writes", text, (StructuredFunction(event.function),))


def _output_label(trace: Trace, event: ev.OutputAllocated) -> str:
    """``t2 [2, 2] float32 (functional)``, ``o [3] int64 (out, resized)``, ``o [3] int64 (out, proxy t7)``"""
    proxy = "" if event.proxy is None else f", proxy {tensor_name(trace, event.proxy, event.seq)}"
    variant = f"{event.variant}{', resized' if event.resized else ''}{proxy}"
    sizes = f" {shaped(event.shape)} {plain_dtype(event.dtype)}" if event.dtype else ""
    return f"{tensor_name(trace, event.tensor, event.seq)}{sizes} ({variant})"


def _proxy_label(trace: Trace, event: ev.ProxyCopied) -> str:
    proxy, output = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.output))
    return f"proxy {proxy} → {output}"


def _impl_label(trace: Trace, event: ev.ImplEntered) -> str:
    written = ", ".join(tensor_name(trace, tensor, event.seq) for tensor in event.tensors)
    return shortened(f"{event.function} → {written}", WIDTH)


def _why_proxy_copied(trace: Trace, event: ev.ProxyCopied) -> Statement:
    proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.output))
    text = f"The kernel wrote to the proxy {proxy}. copy_ now copies the data into {name}, which keeps its own strides."
    return Statement("proxy copied", text)


STRUCTURED_KINDS = (
    Kind(
        ev.MetaEntered,
        group="structured",
        label=lambda trace, event: event.function,
        why=_meta,
        rule=lambda event: Rule(
            "A structured operator has one meta function for all devices. It sets the output's shape and dtype.",
            event.function,
            structured_file(event.function),
        ),
        known=unseen(_STRUCTURED),
        panes=("structured kernel", "source"),
    )
    | Kind(
        ev.OutputAllocated,
        group="structured",
        label=lambda trace, event: f"{event.method}: {_output_label(trace, event)}",
        why=lambda trace, event: (_requested(event), _provided(trace, event), *_proxy(trace, event)),
        rule=lambda event: Rule(
            "A meta function declares its output, and the variant provides it. create_out creates one (functional), "
            "check_inplace checks self (in-place), and resize_out resizes the tensor that was passed (out=).",
            f"at::impl::MetaBase::{event.method}",
            "aten/src/ATen/TensorMeta.h",
        ),
        known=unseen(_STRUCTURED),
        panes=("structured kernel", "tensors"),
    )
    | Kind(
        ev.ImplEntered,
        group="structured",
        label=_impl_label,
        why=_impl,
        rule=lambda event: Rule(
            "A structured operator has one impl function per device. It writes the data of the output.",
            event.function,
            structured_file(event.function),
        ),
        known=unseen(_STRUCTURED),
        panes=("structured kernel", "source"),
    )
    | Kind(
        ev.ProxyCopied,
        group="structured",
        label=_proxy_label,
        why=_why_proxy_copied,
        rule=Rule(
            "If a kernel cannot use the strides of an output, it writes to a proxy, which is copied into the output "
            "afterwards.",
            "maybe_create_proxy",
            "torchgen/dest/register_dispatch_key.py",
        ),
        known=unseen(_STRUCTURED),
        panes=("structured kernel", "source"),
    )
)
