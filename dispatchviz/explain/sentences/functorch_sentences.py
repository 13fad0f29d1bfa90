"""Sentences of functorch: the stack of transforms, and tensors that hide a dimension."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import full_after, functorch_batched_ks, raw, subtract
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import keys_text
from dispatchviz.explain.trace_index.enclosing_steps import around, key_of_kernel

_FRONT, _BACK = DispatchKey.FuncTorchDynamicLayerFrontMode, DispatchKey.FuncTorchDynamicLayerBackMode

_FROM_FRONT_TO_BACK = subtract(full_after(_FRONT), full_after(_BACK)) | raw(_FRONT)


_TASKS = {
    "FuncTorchDynamicLayerFrontMode": (
        "It passes the call to the transform on top of the stack. It saves the thread-local include and exclude sets, "
        "excludes most keys from FuncTorchDynamicLayerFrontMode down to Functionalize, except those that this "
        "transform uses, and calls the operator again."
    ),
    "FuncTorchDynamicLayerBackMode": (
        "The transform has processed the call. It restores the saved include and exclude sets, pops the transform off "
        "the stack, and calls the operator again for the next level."
    ),
    "FuncTorchVmapMode": (
        "It gives the examples the same or different random numbers, depending on vmap's argument randomness."
    ),
    "FuncTorchBatched": (
        "It is a batch rule. It unwraps the batched arguments, calls operators once for the whole batch, and wraps the "
        "result in a BatchedTensor."
    ),
}

_LOOP = (
    "The operator has no batch rule, so this fallback slices the batch, calls the operator once per example, and "
    "stacks the results."
)


def task(key: str, reason: str) -> str:
    """The task of a functorch kernel; empty for other keys."""
    if key == "FuncTorchBatched" and reason == "backend fallback":
        return _LOOP
    if key == "FuncTorchBatched" and reason == "batched kernel":
        return (
            "It is a composite kernel. The operators that it calls have batch rules, so it can run on batched tensors."
        )
    return _TASKS.get(key, "")


def passed_on(trace: Trace, kernel: ev.KernelEntered, call: ev.Dispatched) -> str:
    """The way in which a functorch kernel calls the same operator again; empty for other calls."""
    outer = around(trace, kernel.seq, ev.Dispatched)
    if outer is None or outer.operator != call.operator:
        return ""
    match outer.key:
        case "FuncTorchDynamicLayerFrontMode":
            return f"The transform on top calls {call.operator} again, without the keys that it has just excluded."
        case "FuncTorchDynamicLayerBackMode":
            return f"{call.operator} is called again, as if that transform were not there."
        case "FuncTorchBatched" | "FuncTorchVmapMode":
            return (
                f"{kernel.kernel} calls {call.operator} on the tensors that the batched tensors wrap. This is a full "
                "dispatch."
            )
        case _:
            return ""


def _kept(guard: ev.GuardEntered) -> str:
    """The keys from Front down to Back that a transform can still reach; lower keys are not affected."""
    kept = _FROM_FRONT_TO_BACK & ~guard.excluded
    return f"and from {_FRONT.name} down to {_BACK.name} only {keys_text(kept)} remain"


def guard_reason(trace: Trace, guard: ev.GuardEntered) -> str:
    """The reason for a functorch guard; empty for any other guard."""
    if guard.guard == "SaveLocalDispatchKeySet":
        return f"the transform on top gets the call first, {_kept(guard)}"
    kernel = around(trace, guard.seq, ev.KernelEntered)
    key = key_of_kernel(trace, kernel) if kernel is not None else ""
    if key == "FuncTorchDynamicLayerBackMode":
        return "the call leaves the transform with the sets that it entered with"
    if guard.excluded & ~guard.excluded_before & functorch_batched_ks:
        return "the tensors are unwrapped, and this vmap has already been handled"
    if key == "FuncTorchVmapMode":
        return "the randomness of this vmap has already been handled"
    return ""
