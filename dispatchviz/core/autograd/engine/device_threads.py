"""Device threads of the engine: what a program can observe of the threads that run the Nodes of accelerators
(``engine.cpp``).

A Node runs on the thread of its device, ``pt_autograd_0`` for cuda:0. What it makes under create_graph takes the
sequence numbers of that thread, which count from 0 in every process, and that thread's id; key sets and modes are the
caller's. Here the calling thread does the work and carries the device's ``State`` meanwhile.

NB: in PyTorch, these are threads of their own: ``threading.get_ident()`` in a hook tells them apart, and two threads
that call backward on one device take turns.
"""

from __future__ import annotations

from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.device.array_library import is_initialized
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import State, new_thread_id

_states: dict[int, State] = {}
"""By device index; a thread begins with the first Node that it runs."""


def needed() -> bool:
    """``cuda`` was initialized: there may be Nodes of it."""
    return is_initialized()


def state_for(node: Node, caller: State) -> State:
    """What the thread carries that runs ``node``: the caller's own state, but for Nodes of an accelerator."""
    device = Node.device(node)  # a Function's context may have an attribute of that name
    if device.type != "cuda":
        return caller
    index = device.index or 0
    state = _states.get(index)
    if state is None:
        state = _states[index] = State(new_thread_id())
        if recorder.active is not None:
            recorder.active.states_change()
    if state is not caller:
        state.copy_from(caller)
    return state


def exchange_states(states: dict[int, State]) -> dict[int, State]:
    """Other threads from now on; gives those of before."""
    before = dict(_states)
    _states.clear()
    _states.update(states)
    return before
