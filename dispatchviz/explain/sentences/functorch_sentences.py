"""Sentences of functorch: the stack of transforms, and tensors that hide a dimension."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.keys.key_set import functorch_batched_ks
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.english import shaped
from dispatchviz.explain.sentences.event_groups import LayerEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around, key_of_kernel
from dispatchviz.explain.trace_index.trace_index import index, latest


def why(trace: Trace, event: LayerEvent) -> Statement:
    """What becomes of the stack of transforms."""
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
        text = f"The call below has come back, so the {_transform(event)} is on top of the stack again."
        return Statement("transform back on the stack", text)
    what = f"A transform begins: the {_transform(event)} is on top of the stack"
    if event.level > 1:
        return Statement("inner transform begins", f"{what}. It gets to see a call before those below it do.")
    text = (
        f"{what}. From here on the thread includes FuncTorchDynamicLayerFrontMode, so every call of this thread goes "
        "to the transform first, and FuncTorchDynamicLayerBackMode, where it leaves the transform."
    )
    return Statement("transform begins", text)


def _popped(event: ev.DynamicLayerPopped) -> Statement:
    last = event.level == 1
    if event.why == "ends":
        rest = "calls are ordinary calls again" if last else "those below it go on"
        return Statement("transform ends", f"The {_transform(event)} is over and leaves the stack: {rest}.")
    where = "where it would have gone without any transform" if last else f"to the transform of level {event.level - 1}"
    text = f"The {_transform(event)} has done its part and steps off the stack, so that the call goes on {where}."
    return Statement("transform steps off", text)


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
        f"{name} wraps {value} for the {transform} of level {event.level}: its {own} is that level's alone, and "
        f"{value} knows nothing of it."
    )
    return Statement("TensorWrapper made", text)


def _transform_of(trace: Trace, level: int, at: int) -> str:
    """The transform that has a level as of a step."""
    return latest(index(trace).transforms.get(level, []), at) or "transform"


_TASKS = {
    "FuncTorchDynamicLayerFrontMode": (
        "It gives the call to the transform on top of the stack: it saves the thread's sets, leaves open only the keys "
        "of that transform, and calls the operator again."
    ),
    "FuncTorchDynamicLayerBackMode": (
        "The transform has done its part. It puts back the sets that were saved on the way in, takes the transform off "
        "the stack, and calls the operator again, for whatever is below."
    ),
    "FuncTorchVmapMode": "It sees to it that the examples share their random numbers, or do not, as vmap was told.",
    "FuncTorchBatched": (
        "It is a batch rule: it takes the batched arguments apart, calls operators once for the whole batch, and hides "
        "the batch dimension of the result again."
    ),
}

_LOOP = (
    "There is no batch rule for the operator: it cuts the batch up, calls the operator once per example, and stacks "
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
    """How a kernel of functorch's calls the very operator that it was called for; empty for other calls."""
    outer = around(trace, kernel.seq, ev.Dispatched)
    if outer is None or outer.operator != call.operator:
        return ""
    match outer.key:
        case "FuncTorchDynamicLayerFrontMode":
            return f"The transform on top calls {call.operator} again, with only its own keys left open."
        case "FuncTorchDynamicLayerBackMode":
            return f"{call.operator} is called again, as if that transform were not there."
        case "FuncTorchBatched" | "FuncTorchVmapMode":
            return f"{kernel.kernel} calls {call.operator} on what the batched tensors wrap: a call from the top."
        case _:
            return ""


def guard_reason(trace: Trace, guard: ev.GuardEntered) -> str:
    """Why a guard of functorch stands where it stands; empty for any other guard."""
    if guard.guard == "SaveLocalDispatchKeySet":
        return "the transform on top gets the call, and nothing else may: only its own keys are left open"
    kernel = around(trace, guard.seq, ev.KernelEntered)
    key = key_of_kernel(trace, kernel) if kernel is not None else ""
    if key == "FuncTorchDynamicLayerBackMode":
        return "the call leaves the transform with the sets that it came with"
    if guard.excluded & ~guard.excluded_before & functorch_batched_ks:
        return "the tensors are unwrapped, and this vmap has had its turn"
    if key == "FuncTorchVmapMode":
        return "this vmap has had its say about random numbers"
    return ""
