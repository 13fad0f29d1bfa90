"""Told steps inside a backward on CUDA read the sets of the thread that runs the Node, guards included."""

from __future__ import annotations

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.trace import Trace


def trace_of_backward() -> Trace:
    with clean_process_state(), dispatchviz.record() as trace:
        x = torch.ones(2, device="cuda", requires_grad=True)
        (x * x).sum().backward()
    return trace


def test_what_is_called_below_a_guard_does_not_reach_autograd() -> None:
    for trace in (trace_of_backward(), trace_of_backward()):  # the device's thread is new, and known
        within = [
            e
            for e in trace
            if isinstance(e, ev.Dispatched) and any(isinstance(a, ev.GuardEntered) for a in trace.ancestors(e.seq))
        ]
        assert within
        assert not any("Autograd" in e.key for e in within)


def test_the_sets_that_are_told_are_those_in_force() -> None:
    trace = trace_of_backward()
    for computed in trace:
        if not isinstance(computed, ev.KeySetComputed):
            continue
        guard = next((a for a in trace.ancestors(computed.seq) if isinstance(a, ev.GuardEntered)), None)
        assert computed.excluded & autograd_dispatch_keyset == (
            guard.excluded & autograd_dispatch_keyset if guard else 0
        )
