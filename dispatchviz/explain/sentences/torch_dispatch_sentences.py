"""Sentences of ``__torch_dispatch__``: a mode or a subclass gets a call, and returns."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.english import counted
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_names
from dispatchviz.explain.trace_index.enclosing_steps import around


def entered(trace: Trace, event: ev.TorchDispatchEntered) -> Statement:
    """Which mode or subclass gets the call, and where the calls that it makes go."""
    gets = f"gets {event.function} in its __torch_dispatch__, {_when(trace, event)}. {_calls(event)}"
    if event.kind == "mode":
        return Statement("mode called", f"The mode {event.handler} {gets}")
    return Statement("tensor subclass called", f"The tensor subclass {event.handler} {gets}")


def _when(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    kernel = around(trace, event.seq, ev.KernelEntered)
    if kernel is None or kernel.kernel != "pythonFallback":
        return "since a tensor is copied without a dispatcher call, and the handler may replace the copy"
    return "now that all keys above Python have been handled"


def _calls(event: ev.TorchDispatchEntered) -> str:
    if event.modes_left:
        return f"What it calls goes to {counted(event.modes_left, 'outer mode')} first."
    past = not autograd_dispatch_keyset & ~event.excluded
    where = "goes straight to the backend" if past else "is dispatched as it would be without it"
    if event.kind == "mode":
        return f"It is off the mode stack meanwhile, so what it calls on plain tensors {where}."
    return f"What it calls on plain tensors {where}; on tensors of its own class it would be called again."


def left(trace: Trace, event: ev.TorchDispatchLeft) -> Statement:
    """What the handler returned."""
    if event.not_implemented:
        return Statement(
            "handler returns NotImplemented", f"{event.handler} returns NotImplemented: the next handler is called."
        )
    result = tensor_names(trace, event.tensors, event.seq)
    text = f"The __torch_dispatch__ of {event.handler} is done{f' and returns {result}' if result else ''}."
    return Statement("handler done", text)
