"""Sentences on kernels: the task of the kernel that runs, and its result."""

from __future__ import annotations

import re

from dispatchviz.core.kernel.kernel_names import NOT_IMPLEMENTED
from dispatchviz.core.layers.autocast.autocast_policies import policy_of
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import recorded_key
from dispatchviz.explain.keys.key_text import is_autograd, is_backend
from dispatchviz.explain.keys.own_numbers import own_shown
from dispatchviz.explain.sentences import functorch_sentences
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.sentences.table_claims import AutogradKernel
from dispatchviz.explain.trace_index.display_names import plain_node, tensor_name, tensor_names
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around, within
from dispatchviz.foundation.english import listed
from dispatchviz.live.registration import UNKNOWN_FILE

COMPOSITES = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
"""Aliases whose kernels serve many backends, and leave the autograd keys alone."""

FEW = 4
"""The number of called operators that a sentence names."""


def named(kernel: str) -> str:
    """A kernel in a sentence; one with the name of its operator is ``a function named randn``."""
    if kernel.startswith(UNKNOWN_FILE):
        return "a kernel of Python, whose file this release does not print,"
    if _is_place(kernel):
        return f"the kernel that {kernel} registers"
    return kernel if _self_explanatory(kernel) else f"a function named {kernel}"


def subject(kernel: str) -> str:
    """A kernel at the beginning of a sentence."""
    if kernel.startswith(UNKNOWN_FILE):
        return "A kernel of Python, whose file this release does not print,"
    if _is_place(kernel):
        return f"The kernel that {kernel} registers"
    return kernel if _self_explanatory(kernel) else f"The kernel {kernel}"


def _is_place(kernel: str) -> bool:
    """Return whether a kernel without a known name is named by the place of its registration, ``FILE:LINE``."""
    file, _, line = kernel.rpartition(":")
    return line.isdecimal() and "/" in file


def _self_explanatory(kernel: str) -> bool:
    return "::" in kernel or "wrapper_" in kernel


def returned(trace: Trace, event: ev.KernelReturned) -> Statement:
    """The sentence on a kernel that returns."""
    kernel = trace[event.parent] if event.parent is not None else None
    name = subject(kernel.kernel) if isinstance(kernel, ev.KernelEntered) else "The kernel"
    result = tensor_names(trace, event.tensors, event.seq)
    return Statement("kernel returns", f"{name} returns {result}." if result else f"{name} is done.")


def hashed(trace: Trace, event: ev.ResultHashed) -> Statement:
    """The sentence on the hash of a kernel's result."""
    name = tensor_name(trace, event.tensor, event.seq)
    text = (
        f"The kernel computed {name}. The hash of its dtype, shape and numbers is {event.hash}. Another run with the "
        "same hash has the same numbers."
    )
    return Statement("result hashed", text)


def entered(trace: Trace, event: ev.KernelEntered) -> Statements:
    """The sentences on a kernel that runs."""
    runs = Statement("kernel runs", f"{subject(event.kernel)} runs.")
    call = around(trace, event.seq, ev.Dispatched)
    if call is None:
        return runs
    chosen = within(trace, call.seq, ev.KernelSelected)
    return runs, _task(trace, event, call, chosen)


def _task(trace: Trace, event: ev.KernelEntered, call: ev.Dispatched, chosen: ev.KernelSelected | None) -> Statement:
    """The task of the kernel that now runs."""
    reason = chosen.reason if chosen else ""
    if reason == "math kernel":
        return _composite(trace, event)
    if is_autograd(call.key):
        return _autograd(trace, event, call, reason)
    if call.key == "ADInplaceOrView":
        after = "makes the result a view of its base" if _makes_view(call) else "bumps the tensor's version"
        return Statement("kernel: ADInplaceOrView", f"It redispatches, then {after}.")
    if call.key == "BackendSelect":
        return _backend_select(trace, event)
    if call.key.startswith("Autocast") and (cast := _autocast_task(call.operator, call.key)):
        return Statement("kernel: autocast", cast)
    if transform := functorch_sentences.task(call.key, reason):
        return Statement("kernel: functorch", transform)
    if is_backend(call.key):
        return _backend(trace, event, call, chosen.source if chosen else "")
    return Statement("kernel: key set", f"Its key set is {own_shown(trace.header, event.key_set)}.")


def _autocast_task(operator: str, key: str) -> str:
    """The cast policy of an autocast kernel; empty if it is not known."""
    policy = policy_of(operator.partition("::")[2], recorded_key(key))
    if policy is None:
        return ""
    again = "" if policy.name == "banned" else f" Then it excludes {key} and calls the operator again."
    return f"Its cast policy is {policy.name}: {policy.value}.{again}"


def _composite(trace: Trace, event: ev.KernelEntered) -> Statement:
    if called := _called_by(trace, event):
        text = f"It computes nothing itself but calls {called}, each of them through the dispatcher."
        text = text.replace(", each of them", "") if " and " not in called else text
        return Statement("kernel: composite", text)
    return Statement("kernel: composite without calls", "It returns its result without calling another operator.")


def _called_by(trace: Trace, event: ev.KernelEntered) -> str:
    """The operators that a kernel itself calls: ``aten::empty and aten::fill_``; empty if there are none."""
    found: dict[str, None] = {}
    seq, end = event.seq + 1, trace.ends[event.seq]
    while seq <= end:
        inner = trace[seq]
        if isinstance(inner, ev.Dispatched):
            found[inner.operator] = None
            seq = trace.ends[seq]
        seq += 1
    names = list(found)
    more = ["other operators"] if len(names) > FEW else []
    return listed(names[: FEW - len(more)] + more)


def _backend_select(trace: Trace, event: ev.KernelEntered) -> Statement:
    computed = arguments(trace, event.seq)
    if computed is not None and computed.arguments:
        return Statement(
            "kernel: BackendSelect with tensors",
            "It looks up the requested device, adds that device's key to the tensors' keys below BackendSelect, and "
            "redispatches.",
        )
    return Statement(
        "kernel: BackendSelect",
        "It looks up the requested device, makes the key set of that device and redispatches.",
    )


def _backend(trace: Trace, event: ev.KernelEntered, call: ev.Dispatched, source: str) -> Statement:
    called, key = _called_by(trace, event), call.key
    here = " (emulated with NumPy)" if "CUDA" in key and trace.header.cuda.startswith("emulated") else ""
    if key.endswith("Meta"):
        by = f", with the help of {called}" if called else ""
        return Statement("kernel: Meta", f"It computes the sizes, strides and dtype of the result{by}, without data.")
    if source in COMPOSITES and called:
        do = "do" if " and " in called else "does"
        most = "most" if source.endswith("NonFunctional") else "all"
        text = (
            f"It is one kernel for {most} backends without a kernel of their own. It calls {called}, which {do} the "
            f"work on {key}{here}."
        )
        return Statement("kernel: explicit composite", text)
    if called:
        return Statement("kernel: backend with help", f"It does the work on {key}{here}, with the help of {called}.")
    return Statement("kernel: backend", f"It does the work on {key}{here}.")


def _autograd(trace: Trace, event: ev.KernelEntered, call: ev.Dispatched, reason: str) -> Statement:
    """The task of an autograd kernel: most record a Node, some have nothing to record, detach removes the history."""
    operator = call.operator.partition("::")[2]
    if reason == "backend fallback":
        return _fallback(trace, event, call)
    if operator in ("detach", "detach_"):
        whose = "The tensor itself" if operator == "detach_" else "The result"
        text = f"It is written by hand. {whose} must have no history, so no Node is recorded."
        return Statement("autograd kernel: detach", text)
    if _writes_out(call.operator):
        text = "It checks that nothing has to be recorded (out= has no derivative) and redispatches."
        return Statement("autograd kernel: out", text, (AutogradKernel(call.operator, "out"),))
    following = trace[event.seq + 1] if event.seq + 1 < len(trace) else None
    if isinstance(following, ev.NoNodeMade) and following.why == "never differentiable":
        text = "It computes nothing and has nothing to record here, so it redispatches to the keys below."
        return Statement("autograd kernel: nothing to record", text)
    if event.kernel == NOT_IMPLEMENTED["VariableType"]:
        return Statement(
            "autograd kernel: not implemented",
            f"{call.operator} has no derivative. If an input requires grad, the result gets a Node that raises an "
            "error when backward reaches it. The kernel redispatches to the keys below.",
            (AutogradKernel(call.operator, "not implemented"),),
        )
    return Statement(
        "autograd kernel",
        "It computes nothing itself. If an input requires grad and grad mode is on, it records the operator as a Node "
        "in the backward graph. Then it redispatches to the keys below.",
    )


def _fallback(trace: Trace, event: ev.KernelEntered, call: ev.Dispatched) -> Statement:
    """The sentence on PyTorch's autograd_fallback in its mode ``warn`` or ``nothing``. The trace says if it created a
    Node.
    """
    if not _warns(trace, event):
        return Statement(
            "autograd fallback",
            f"{call.operator} has no autograd kernel, so this fallback only redispatches and records no derivative.",
        )
    return Statement(
        "autograd fallback: warns",
        f"{call.operator} has no autograd kernel, so this fallback redispatches and records no derivative. An input "
        "requires grad, so a result without a history gets a Node that only warns when backward reaches it. The "
        f"gradient of {call.operator} is lost there. If the kernel calls differentiable operators itself, their "
        "gradients are kept.",
    )


def _warns(trace: Trace, event: ev.KernelEntered) -> bool:
    few = trace[event.seq + 1 : event.seq + 8]
    return any(isinstance(e, ev.NodeCreated) and plain_node(e.name) == "WarnNotImplemented" for e in few)


_OUT = re.compile(r"\*, [^>]*\w!\)")


def _writes_out(operator: str) -> bool:
    """Return whether an operator writes to a keyword-only argument; for a user's operator, its overload decides."""
    from dispatchviz.core.table.pytorch_registrations import pytorch_schema  # brings all of the table

    try:
        return bool(_OUT.search(pytorch_schema(operator)))
    except KeyError:
        return operator.partition(".")[2].endswith("out")


def _makes_view(call: ev.Dispatched) -> bool:
    """Return whether the operator makes a view; in-place and out= operators bump a version instead."""
    return not (call.operator.partition(".")[0].endswith("_") or _writes_out(call.operator))
