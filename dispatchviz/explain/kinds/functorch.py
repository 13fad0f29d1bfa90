"""functorch: the stack of transforms, and the tensors that they make."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    LAYERS,
)
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import shaped


def _transform(event: ev.DynamicLayerPushed | ev.DynamicLayerPopped) -> str:
    return f"{event.transform.lower()} of level {event.level}"


def _pushed(event: ev.DynamicLayerPushed) -> Statement:
    if event.why != "begins":
        text = f"The call below has returned, so the {_transform(event)} is pushed back onto the stack."
        return Statement("transform pushed again", text)
    what = f"A transform begins: the {_transform(event)} is on top of the stack"
    if event.level > 1:
        return Statement("inner transform begins", f"{what}. It gets each call before the transforms below it.")
    text = (
        f"{what}. The thread-local include set now has FuncTorchDynamicLayerFrontMode, so every call of this thread "
        "goes to the transform first. It also has FuncTorchDynamicLayerBackMode, where a call leaves the transform."
    )
    return Statement("transform begins", text)


def _popped(event: ev.DynamicLayerPopped) -> Statement:
    last = event.level == 1
    if event.why == "ends":
        rest = "Calls are ordinary calls again" if last else "The transforms below it stay"
        return Statement("transform ends", f"The {_transform(event)} ends and is popped off the stack. {rest}.")
    where = "as it would without a transform" if last else f"to the transform of level {event.level - 1}"
    text = f"The {_transform(event)} has processed the call and is popped off the stack. The call goes on {where}."
    return Statement("transform popped", text)


def _why_batched(trace: Trace, event: ev.BatchedTensorMade) -> Statement:
    """Name the dimension that a BatchedTensor hides, and the level of vmap that hides it."""
    value = tensor_name(trace, event.value, event.seq)
    made = index(trace).tensors.get(event.tensor)
    seen = f", so the function sees {shaped(made.shape)}" if made is not None else ""
    text = (
        f"{tensor_name(trace, event.tensor, event.seq)} is {value} with dimension {event.bdim} hidden for the vmap of "
        f"level {event.level}{seen}. It has the keys of {value}'s device and FuncTorchBatched, which selects the batch "
        "rules."
    )
    return Statement("BatchedTensor made", text)


def _why_wrapped(trace: Trace, event: ev.TensorWrapperMade) -> Statement:
    """Name the tensor that a level of ``grad`` or ``jvp`` wraps."""
    value = tensor_name(trace, event.value, event.seq)
    name, transform = tensor_name(trace, event.tensor, event.seq), _transform_of(trace, event.level, event.seq)
    own = "tangent" if transform == "jvp" else "history"
    text = (
        f"{name} wraps {value} for the {transform} of level {event.level}. Its {own} belongs to that level, and "
        f"{value} does not have it."
    )
    return Statement("TensorWrapper made", text)


def _transform_of(trace: Trace, level: int, at: int) -> str:
    """The transform at a level as of a step."""
    return latest(index(trace).transforms.get(level, []), at) or "transform"


_TRANSFORMS = "only the calls at the keys of transforms are seen"


def _wrapper_label(trace: Trace, event: ev.TensorWrapperMade) -> str:
    name, value = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, event.value))
    return f"{name} wraps {value} (level {event.level})"


def _batched_label(trace: Trace, event: ev.BatchedTensorMade) -> str:
    name, value = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, event.value))
    return f"{name} is {value} without dimension {event.bdim} (level {event.level})"


_LAYER_RULE = (
    "The transform on top of the stack gets a call first. The call then goes to the others one by one, and finally to "
    "an ordinary dispatch."
)

FUNCTORCH_KINDS = (
    Kind(
        ev.DynamicLayerPushed,
        group="thread",
        label=lambda trace, event: f"{event.transform.lower()} level {event.level} {event.why}",
        why=lambda trace, event: _pushed(event),
        rule=Rule(_LAYER_RULE, "at::functorch::pushDynamicLayer", LAYERS),
        known=unseen(_TRANSFORMS),
        level="calls",
        panes=("thread state", "calls"),
    )
    | Kind(
        ev.DynamicLayerPopped,
        group="thread",
        label=lambda trace, event: f"{event.transform.lower()} level {event.level} {event.why}",
        why=lambda trace, event: _popped(event),
        rule=Rule(_LAYER_RULE, "at::functorch::popDynamicLayer", LAYERS),
        known=unseen(_TRANSFORMS),
        panes=("thread state", "calls"),
    )
    | Kind(
        ev.BatchedTensorMade,
        group="tensor",
        label=_batched_label,
        why=_why_batched,
        rule=Rule(
            "A BatchedTensor has the shape of one example. The tensor that it wraps holds the whole batch.",
            "at::functorch::makeBatched",
            "aten/src/ATen/functorch/BatchedTensorImpl.cpp",
        ),
        known=unseen(_TRANSFORMS),
    )
    | Kind(
        ev.TensorWrapperMade,
        group="tensor",
        label=_wrapper_label,
        why=_why_wrapped,
        rule=Rule(
            "Each level of grad has its own wrapper tensors, so the histories of the levels stay separate.",
            "at::functorch::makeTensorWrapper",
            "aten/src/ATen/functorch/TensorWrapper.cpp",
        ),
        known=unseen(_TRANSFORMS),
    )
)
