"""Device threads of the engine: the effects that a program can observe of the threads that run the Nodes of
accelerators (``engine.cpp``).

A Node runs on the thread of its device, ``pt_autograd_0`` for cuda:0. Nodes that it creates under create_graph take the
sequence numbers of that thread, which count from 0 in every process, and that thread's id. Key sets and modes are the
caller's. Here the calling thread does the work and has the device's ``State`` meanwhile.

NB: in PyTorch, these are separate threads: ``threading.get_ident()`` in a hook shows that, and two threads that call
backward on one device alternate.
"""

from __future__ import annotations

from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.device.array_library import is_initialized
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import State, new_thread_id

_states: dict[int, State] = {}
"""The states by device index. A thread begins with the first Node that it runs."""


def needed() -> bool:
    """Return whether ``cuda`` was initialized, so that there may be Nodes of it."""
    return is_initialized()


def state_for(node: Node, caller: State) -> State:
    """Return the state of the thread that runs ``node``: the caller's own, except for Nodes of an accelerator."""
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
    """Replace the states of the device threads. Return the previous ones."""
    before = dict(_states)
    _states.clear()
    _states.update(states)
    return before
