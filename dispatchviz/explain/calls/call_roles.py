"""The roles of the frames of a call stack: the binding, the kernel that records the graph, the kernel that computes."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import is_autograd, is_backend
from dispatchviz.explain.trace_index.enclosing_steps import around, within

YOURS = "your code"

ROLES: dict[type[ev.Event], str] = {
    ev.BindingEntered: "binding",
    ev.Dispatched: "dispatcher",
    ev.MetaEntered: "meta function",
    ev.ImplEntered: "impl function",
    ev.FunctionEntered: "custom Function",
    ev.ModuleCalled: "module",
    ev.CompileStarted: "compiler",
    ev.RegionCalled: "compiled region",
    ev.BackwardCompiled: "engine",
    ev.ForwardFormulaEntered: "forward formula",
    ev.BackwardStarted: "engine",
    ev.NodeStarted: "engine",
}

KERNELS = {
    "BackendSelect": "chooses the backend",
    "ADInplaceOrView": "views and versions",
    "Python": "calls Python",
    "PythonTLSSnapshot": "calls Python",
    "Functionalize": "functionalization",
}
"""The task of the kernels for a key, if the key's name does not say it."""


def role_of(trace: Trace, event: ev.AnyEvent) -> str:
    """The role in two or three words; empty if there is none."""
    return _kernel(trace, event) if isinstance(event, ev.KernelEntered) else ROLES.get(type(event), "")


def _kernel(trace: Trace, kernel: ev.KernelEntered) -> str:
    call = around(trace, kernel.seq, ev.Dispatched)
    if call is None:
        return "kernel"
    chosen = within(trace, call.seq, ev.KernelSelected)
    key = call.key if chosen is None else chosen.key
    if chosen is not None and chosen.source == "CompositeImplicitAutograd":
        return "composite kernel"
    if key in KERNELS:
        return KERNELS[key]
    if is_autograd(key):
        return "autograd kernel"
    if key.startswith("Autocast"):
        return "autocast kernel"
    if key.startswith("FuncTorch"):
        return "transform"
    return "backend kernel" if is_backend(key) else f"{key} kernel"
