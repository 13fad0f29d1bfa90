"""Calls: key sets, cells, kernels, boxing, ``__torch_dispatch__``."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.stack_text import stack_values
from dispatchviz.explain.keys.own_numbers import own_cell, own_hex
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import shortened

LABELS = Labels()


@LABELS.of(ev.Dispatched)
def _dispatched(trace: Trace, event: ev.Dispatched) -> str:
    return f"{event.how} {event.operator} → {event.key}"


@LABELS.of(ev.KeySetComputed)
def _key_set(trace: Trace, event: ev.KeySetComputed) -> str:
    return f"key set {own_hex(trace.header, event.effective)}"


@LABELS.of(ev.FallthroughSkipped)
def _skipped(trace: Trace, event: ev.FallthroughSkipped) -> str:
    return shortened(f"skipped {', '.join(name for name, _, _ in event.keys)}", WIDTH)


@LABELS.of(ev.KernelSelected)
def _selected(trace: Trace, event: ev.KernelSelected) -> str:
    cell = own_cell(trace.header, event.key, event.cell)
    return f"cell {cell} {event.key}: {event.kernel or 'empty'}"


@LABELS.of(ev.KernelEntered)
def _kernel(trace: Trace, event: ev.KernelEntered) -> str:
    return f"kernel {event.kernel}"


@LABELS.of(ev.KernelReturned)
def _returned(trace: Trace, event: ev.KernelReturned) -> str:
    names = ", ".join([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
    return shortened(f"returns {names}", WIDTH) if names else "returns"


@LABELS.of(ev.ResultHashed)
def _hashed(trace: Trace, event: ev.ResultHashed) -> str:
    return f"hash of {tensor_name(trace, event.tensor, event.seq)}: {event.hash}"


@LABELS.of(ev.Boxed)
def _boxed(trace: Trace, event: ev.Boxed) -> str:
    return _with_contents(trace, event, f"boxed {event.values} of {event.operator}")


@LABELS.of(ev.Unboxed)
def _unboxed(trace: Trace, event: ev.Unboxed) -> str:
    return _with_contents(trace, event, f"unboxed {event.values} of {event.operator}")


def _with_contents(trace: Trace, event: ev.Boxed | ev.Unboxed, label: str) -> str:
    values = stack_values(trace, event)
    return shortened(f"{label}: {', '.join(values)}", WIDTH) if values else label


@LABELS.of(ev.TorchDispatchEntered)
def _torch_dispatch(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    return shortened(f"{event.kind} {event.handler} gets {event.function}", WIDTH)


@LABELS.of(ev.TorchDispatchLeft)
def _torch_dispatch_left(trace: Trace, event: ev.TorchDispatchLeft) -> str:
    return f"{event.handler} {'returns NotImplemented' if event.not_implemented else 'is done'}"
