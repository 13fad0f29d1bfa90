"""Structured kernels, and what happens to tensors."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import key_names
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import plain_dtype, shaped, shortened

LABELS = Labels()


@LABELS.of(ev.MetaEntered)
def _meta(trace: Trace, event: ev.MetaEntered) -> str:
    return event.function


@LABELS.of(ev.OutputAllocated)
def _allocated(trace: Trace, event: ev.OutputAllocated) -> str:
    return f"{event.method}: {_output(trace, event)}"


def _output(trace: Trace, event: ev.OutputAllocated) -> str:
    """``t2 [2, 2] float32 (functional)``, ``o [3] int64 (out, resized)``, ``o [3] int64 (out, proxy t7)``"""
    proxy = "" if event.proxy is None else f", proxy {tensor_name(trace, event.proxy, event.seq)}"
    variant = f"{event.variant}{', resized' if event.resized else ''}{proxy}"
    sizes = f" {shaped(event.shape)} {plain_dtype(event.dtype)}" if event.dtype else ""
    return f"{tensor_name(trace, event.tensor, event.seq)}{sizes} ({variant})"


@LABELS.of(ev.ProxyCopied)
def _proxy(trace: Trace, event: ev.ProxyCopied) -> str:
    proxy, output = _pair(trace, event.proxy, event.output, event.seq)
    return f"proxy {proxy} → {output}"


def _pair(trace: Trace, first: int, second: int, at: int) -> tuple[str, str]:
    """The names of two tensors."""
    return tensor_name(trace, first, at), tensor_name(trace, second, at)


@LABELS.of(ev.ImplEntered)
def _impl(trace: Trace, event: ev.ImplEntered) -> str:
    written = ", ".join(tensor_name(trace, tensor, event.seq) for tensor in event.tensors)
    return shortened(f"{event.function} → {written}", WIDTH)


@LABELS.of(ev.TensorCreated)
def _tensor(trace: Trace, event: ev.TensorCreated) -> str:
    shape = f"{shaped(event.shape)} {plain_dtype(event.dtype)} {event.device}"
    name = (
        f"t{event.tensor}  {event.value}".rstrip()
        if event.wrapped_number
        else tensor_name(trace, event.tensor, event.seq)
    )
    return f"tensor {name}  {shape}{'' if event.how == 'new' else f' ({event.how})'}"


@LABELS.of(ev.ViewMade)
def _view(trace: Trace, event: ev.ViewMade) -> str:
    name, base = _pair(trace, event.tensor, event.base, event.seq)
    return f"{name} is a view of {base}"


@LABELS.of(ev.VersionBumped)
def _version(trace: Trace, event: ev.VersionBumped) -> str:
    return f"version of {tensor_name(trace, event.tensor, event.seq)}: {event.before} → {event.after}"


@LABELS.of(ev.InplaceChecked)
def _inplace(trace: Trace, event: ev.InplaceChecked) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"check_inplace: {name} may {'' if event.allowed else 'not '}be written to"


@LABELS.of(ev.GeometryChanged)
def _geometry(trace: Trace, event: ev.GeometryChanged) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name} is {shaped(event.shape)} now, strides {shaped(event.stride)}"


@LABELS.of(ev.RequiresGradSet)
def _requires_grad(trace: Trace, event: ev.RequiresGradSet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name} is detached in place" if event.detached else f"{name}.requires_grad = {event.requires_grad}"


@LABELS.of(ev.GradSet)
def _grad_set(trace: Trace, event: ev.GradSet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name}.grad = {'None' if event.result is None else f't{event.result}'}"


@LABELS.of(ev.TensorWrapperMade)
def _wrapper(trace: Trace, event: ev.TensorWrapperMade) -> str:
    name, value = _pair(trace, event.tensor, event.value, event.seq)
    return f"{name} wraps {value} (level {event.level})"


@LABELS.of(ev.BatchedTensorMade)
def _batched(trace: Trace, event: ev.BatchedTensorMade) -> str:
    name, value = _pair(trace, event.tensor, event.value, event.seq)
    return f"{name} is {value} without dimension {event.bdim} (level {event.level})"


@LABELS.of(ev.KeySetChanged)
def _keys(trace: Trace, event: ev.KeySetChanged) -> str:
    return f"keys of {tensor_name(trace, event.tensor, event.seq)}: {_change(event)}"


def _change(event: ev.KeySetChanged) -> str:
    before, after = set(key_names(event.before)), set(key_names(event.after))
    return " ".join([f"+{name}" for name in sorted(after - before)] + [f"-{name}" for name in sorted(before - after)])


@LABELS.of(ev.NumbersRecorded)
def _numbers(trace: Trace, event: ev.NumbersRecorded) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return shortened(f"{name} holds {event.numbers}" if event.numbers else f"numbers of {name} are not known", WIDTH)
