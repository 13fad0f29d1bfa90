"""Sentences of ``__torch_dispatch__``: a mode or a subclass gets a call, and gives it back."""

from __future__ import annotations

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import counted
from dispatchviz.explain.names import tensor_names
from dispatchviz.explain.surroundings import around


def entered(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    """Who gets the call, and what becomes of calls that it makes."""
    who = f"The mode {event.handler}" if event.kind == "mode" else f"The tensor subclass {event.handler}"
    return f"{who} gets {event.function} in its __torch_dispatch__, {_when(trace, event)}. {_calls(event)}"


def _when(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    kernel = around(trace, event.seq, ev.KernelEntered)
    if kernel is None or kernel.kernel != "pythonFallback":
        return "for a tensor is copied without a dispatcher call and it may want a say"
    return "now that all keys above Python have had their turn"


def _calls(event: ev.TorchDispatchEntered) -> str:
    if event.modes_left:
        return f"What it calls goes to {counted(event.modes_left, 'mode')} further out first."
    if event.kind == "mode":
        return "It is off the mode stack meanwhile, so what it calls on plain tensors goes straight to the backend."
    return "What it calls on plain tensors goes straight to the backend; on its own kind it would come back here."


def left(trace: Trace, event: ev.TorchDispatchLeft) -> str:
    """What came back."""
    if event.not_implemented:
        return f"{event.handler} returns NotImplemented: the next one is asked."
    result = tensor_names(trace, event.tensors, event.seq)
    return f"The __torch_dispatch__ of {event.handler} is done{f' and returns {result}' if result else ''}."
