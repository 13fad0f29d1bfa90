"""Sentences of what a Node keeps for its formula: plain values, tensors, what hooks make of them."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.english import ordinal
from dispatchviz.explain.sentences.sentence_claims import NodeKeeps
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.trace_index import index


def why_attribute(trace: Trace, event: ev.AttributeSaved) -> Statement:
    """A plain value."""
    node = node_title(trace, event.node, event.seq)
    return Statement("attribute saved", f"{node} keeps {event.name} = {event.value}: its formula needs it.")


def why_saved(trace: Trace, event: ev.VariableSaved) -> Statement:
    """A tensor: by itself with its version, or what a hook gave for it."""
    node = node_title(trace, event.node, event.seq)
    if event.tensor is None:
        text = f"{node} would keep {event.name}, but there is no such tensor here."
        return Statement("undefined tensor saved", text, (NodeKeeps(event.node, event.name, None),))
    what = "its own result" if event.is_output else _tensor(trace, event.tensor, event.seq)
    if event.packed:
        text = (
            f"{node} keeps what the hook made of {what} as {event.name}. The version, {event.version}, will not be "
            "compared: whether a later in-place change shows in backward depends on the hooks."
        )
        return Statement("packed tensor saved", text)
    whose = "backward" if event.node in index(trace).functions else "its formula"
    text = (
        f"{node} keeps {what} as {event.name} for {whose}, and notes its version, {event.version}: if an in-place "
        "operation moves that version later, using what was kept raises an error."
    )
    return Statement("tensor saved", text, (NodeKeeps(event.node, event.name, event.tensor),))


def _tensor(trace: Trace, tensor: int, at: int) -> str:
    name = tensor_name(trace, tensor, at)
    return name if " " in name else f"the tensor {name}"


def why_not_saved(trace: Trace, event: ev.VariableNotSaved) -> Statement:
    """Nobody would need it."""
    text = (
        f"{node_title(trace, event.node, event.seq)} does not keep {event.name}: only the formula of its "
        f"{ordinal(event.edge + 1)} edge needs it, and that edge is empty."
    )
    return Statement("tensor not saved", text, (NodeKeeps(event.node, event.name, None),))


def why_hook(trace: Trace, event: ev.SavedTensorHookRan) -> Statement:
    """A hook packs, or unpacks."""
    tensor = tensor_name(trace, event.tensor, event.seq)
    if event.kind == "pack hook":
        text = f"The pack hook {event.function} gets {tensor}, which is to be kept: its {event.packed} is kept instead."
        return Statement("pack hook ran", text)
    text = f"The unpack hook {event.function} turns the {event.packed} that was kept into {tensor}."
    return Statement("unpack hook ran", text)
