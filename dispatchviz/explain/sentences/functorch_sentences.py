"""Sentences of functorch: the stack of transforms, and tensors that hide a dimension."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.keys.key_set import full_after, functorch_batched_ks, raw, subtract
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import keys_text
from dispatchviz.explain.sentences.event_groups import LayerEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around, key_of_kernel
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import shaped

_FRONT, _BACK = DispatchKey.FuncTorchDynamicLayerFrontMode, DispatchKey.FuncTorchDynamicLayerBackMode

_FROM_FRONT_TO_BACK = subtract(full_after(_FRONT), full_after(_BACK)) | raw(_FRONT)


def why(trace: Trace, event: LayerEvent) -> Statement:
    """Why the stack of transforms changes."""
    match event:
        case ev.DynamicLayerPushed():
            return _pushed(event)
        case ev.DynamicLayerPopped():
            return _popped(event)
        case _:
            assert_never(event)


def _transform(event: LayerEvent) -> str:
    return f"{event.transform.lower()} of level {event.level}"


def _pushed(event: ev.DynamicLayerPushed) -> Statement:
    if event.why != "begins":
        text = f"The call below has returned, so the {_transform(event)} is pushed back onto the stack."
        return Statement("transform pushed again", text)
    what = f"A transform begins: the {_transform(event)} is on top of the stack"
    if event.level > 1:
        return Statement("inner transform begins", f"{what}. It gets a call before those below it do.")
    text = (
        f"{what}. From here on the thread includes FuncTorchDynamicLayerFrontMode, so every call of this thread goes "
        "to the transform first, and FuncTorchDynamicLayerBackMode, where the call leaves the transform."
    )
    return Statement("transform begins", text)


def _popped(event: ev.DynamicLayerPopped) -> Statement:
    last = event.level == 1
    if event.why == "ends":
        rest = "calls are ordinary calls again" if last else "those below it go on"
        return Statement("transform ends", f"The {_transform(event)} ends and is popped off the stack: {rest}.")
    where = "as it would have been without any transform" if last else f"by the transform of level {event.level - 1}"
    text = (
        f"The {_transform(event)} has processed the call and is popped off the stack, so that the call is handled "
        f"{where}."
    )
    return Statement("transform popped", text)


def why_batched(trace: Trace, event: ev.BatchedTensorMade) -> Statement:
    """What a BatchedTensor hides."""
    value = tensor_name(trace, event.value, event.seq)
    made = index(trace).tensors.get(event.tensor)
    seen = f", so the function sees {shaped(made.shape)}" if made is not None else ""
    text = (
        f"{tensor_name(trace, event.tensor, event.seq)} is {value} with its dimension {event.bdim} hidden, for the "
        f"vmap of level {event.level}{seen}. It has the keys of {value}'s device and FuncTorchBatched, which picks the "
        "batch rules."
    )
    return Statement("BatchedTensor made", text)


def why_wrapped(trace: Trace, event: ev.TensorWrapperMade) -> Statement:
    """What a level of ``grad`` works on."""
    value = tensor_name(trace, event.value, event.seq)
    name, transform = tensor_name(trace, event.tensor, event.seq), _transform_of(trace, event.level, event.seq)
    own = "tangent" if transform == "jvp" else "history"
    text = (
        f"{name} wraps {value} for the {transform} of level {event.level}: its {own} belongs to that level, {value} "
        "does not have it."
    )
    return Statement("TensorWrapper made", text)


def _transform_of(trace: Trace, level: int, at: int) -> str:
    """The transform that has a level as of a step."""
    return latest(index(trace).transforms.get(level, []), at) or "transform"


_TASKS = {
    "FuncTorchDynamicLayerFrontMode": (
        "It passes the call to the transform on top of the stack: it saves the thread's included and excluded sets, "
        "excludes most keys from FuncTorchDynamicLayerFrontMode down to Functionalize, none that this transform uses, "
        "and calls the operator again."
    ),
    "FuncTorchDynamicLayerBackMode": (
        "The transform has processed the call. It restores the saved included and excluded sets, pops the transform "
        "off the stack, and calls the operator again, for what is below."
    ),
    "FuncTorchVmapMode": (
        "It gives the examples the same random numbers or different ones, as vmap's argument randomness says."
    ),
    "FuncTorchBatched": (
        "It is a batch rule: it unwraps the batched arguments, calls operators once for the whole batch, and wraps "
        "the result in a BatchedTensor."
    ),
}

_LOOP = (
    "There is no batch rule for the operator: it slices the batch, calls the operator once per example, and stacks "
    "the results."
)


def task(key: str, reason: str) -> str:
    """What a kernel of functorch's is for; empty for other keys."""
    if key == "FuncTorchBatched" and reason == "backend fallback":
        return _LOOP
    if key == "FuncTorchBatched" and reason == "batched kernel":
        return "It is composite: the operators that it calls have batch rules, so it can run on batched tensors."
    return _TASKS.get(key, "")


def passed_on(trace: Trace, kernel: ev.KernelEntered, call: ev.Dispatched) -> str:
    """How a kernel of functorch's calls the same operator again; empty for other calls."""
    outer = around(trace, kernel.seq, ev.Dispatched)
    if outer is None or outer.operator != call.operator:
        return ""
    match outer.key:
        case "FuncTorchDynamicLayerFrontMode":
            return f"The transform on top calls {call.operator} again, without the keys that it excludes for that."
        case "FuncTorchDynamicLayerBackMode":
            return f"{call.operator} is called again, as if that transform were not there."
        case "FuncTorchBatched" | "FuncTorchVmapMode":
            return f"{kernel.kernel} calls {call.operator} on what the batched tensors wrap: a full dispatch."
        case _:
            return ""


def _kept(guard: ev.GuardEntered) -> str:
    """The keys that a transform can still reach of those from Front down to Back; the lower ones are not touched."""
    kept = _FROM_FRONT_TO_BACK & ~guard.excluded
    return f"and from {_FRONT.name} down to {_BACK.name} only {keys_text(kept)} remain"


def guard_reason(trace: Trace, guard: ev.GuardEntered) -> str:
    """Why a guard of functorch is active where it is; empty for any other guard."""
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
