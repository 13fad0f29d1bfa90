"""Sentences of structured kernels: meta, ``set_output``, impl, proxies."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import listed, plain_dtype, shaped
from dispatchviz.explain.groups import StructuredEvent
from dispatchviz.explain.index import index
from dispatchviz.explain.names import described, tensor_name


def why(trace: Trace, event: StructuredEvent) -> str:
    """What this part of a structured kernel does."""
    match event:
        case ev.MetaEntered():
            return _meta(trace, event)
        case ev.OutputAllocated():
            return _output(trace, event)
        case ev.ProxyCopied():
            proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.output))
            return f"The kernel wrote the proxy {proxy}; now copy_ brings the numbers into {name}, in its own strides."
        case ev.ImplEntered():
            made = index(trace).tensors.get(event.tensors[0]) if event.tensors else None
            emulated = made is not None and made.device.startswith("cuda") and trace.header.cuda.startswith("emulated")
            with_numpy = ", here with NumPy, since cuda is emulated" if emulated else ""
            written = listed([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
            return f"{event.function} writes the numbers into {written}{with_numpy}."
        case _:
            assert_never(event)


def _meta(trace: Trace, event: ev.MetaEntered) -> str:
    """What it checks for, and what it will ask for, if it gets that far."""
    checks = f"Before a single number is computed, {event.function} checks the arguments"
    asked = next((e for e in trace.children(event.seq) if isinstance(e, ev.OutputAllocated)), None)
    if asked is None:
        return f"{checks} and works out what the result will be."
    return f"{checks} and works out what the result will be: {shaped(asked.shape)} {plain_dtype(asked.dtype)}."


_ASKED = {
    "set_output_raw_strided": "any strides will do for the kernel",
    "set_output_strided": "the kernel needs just these strides",
    "set_output_contiguous": "the kernel needs its elements in order",
}
"""What a meta function says with the method by which it asks for its output."""


def _output(trace: Trace, event: ev.OutputAllocated) -> str:
    """Who asks, what the variant answers, and the proxy where there is one."""
    name = tensor_name(trace, event.tensor, event.seq)
    what = f"{name}, {described(trace, event.tensor, event.seq)}"
    asked = f"The meta function asks for its output ({event.method}: {_ASKED.get(event.method, 'as it needs it')})"
    if event.variant == "functional":
        made = f"create_out makes {what}, without another call through the dispatcher"
        return f"{asked}. This is the functional form: {made}."
    if event.variant == "default backend":
        made = f"create_out calls at::empty, as any program would, and gets {what}"
        return f"{asked}. This is the default for backends that have only the out form: {made}. That form comes next."
    if event.variant == "in-place":
        answer = f"check_inplace finds that {name} has the right size and dtype, and the result goes into {name} itself"
        return f"{asked}. This is the in-place form: {answer}.{_proxy(trace, event)}"
    size = f"resize_out gives {name} the size of the result" if event.resized else f"{name} has the right size already"
    return f"{asked}. The caller gave the memory with out=: {size}.{_proxy(trace, event)}"


def _proxy(trace: Trace, event: ev.OutputAllocated) -> str:
    if event.proxy is None:
        return ""
    proxy, name = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.tensor))
    return f" {name} has other strides, so a proxy stands in for it: the kernel writes {proxy}, which is copied later."
