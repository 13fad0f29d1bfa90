"""Sentences on what a Node saves for its formula: plain values, tensors, results of saved-tensor hooks."""

from __future__ import annotations

import re
from math import prod

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.sentence_claims import NodeKeeps, SavedBytes
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import ordinal


def why_attribute(trace: Trace, event: ev.AttributeSaved) -> Statement:
    """The sentence on a saved plain value."""
    node = node_title(trace, event.node, event.seq)
    return Statement("attribute saved", f"{node} saves {event.name} = {event.value}, because its formula uses it.")


def why_saved(trace: Trace, event: ev.VariableSaved) -> Statements:
    """The sentences on a saved tensor: the tensor with its version, or the result of a pack hook."""
    node = node_title(trace, event.node, event.seq)
    if event.tensor is None:
        text = f"{node} would save {event.name}, but the tensor is undefined here."
        if is_unseen(trace.header, ev.VariableNotSaved):
            text = f"{node} has no tensor in its member {event.name}."
        return Statement("undefined tensor saved", text, (NodeKeeps(event.node, event.name, None),))
    what = "its own result" if event.is_output else _tensor(trace, event.tensor, event.seq)
    if event.packed:
        text = (
            f"{node} saves the result of the pack hook for {what} as {event.name}. The version, {event.version}, will "
            "not be compared, so the hooks decide whether a later in-place change affects backward."
        )
        return Statement("packed tensor saved", text)
    whose = "backward" if event.node in index(trace).functions else "its formula"
    text = f"{node} saves {what} as {event.name} for {whose}, with version {event.version}."
    saved = Statement("tensor saved", text, (NodeKeeps(event.node, event.name, event.tensor),))
    return saved, *_memory(trace, event.tensor, event.seq)


def _memory(trace: Trace, tensor: int, at: int) -> tuple[Statement, ...]:
    """The size of the saved tensor and the time until it is released; empty for expanded tensors and those without
    memory.
    """
    known = index(trace)
    made, shape = known.tensors.get(tensor), known.shape(tensor, at)
    if (
        made is None
        or shape is None
        or made.shape != shape
        or made.device == "meta"
        or made.storage < 0
        or 0 in made.stride
    ):
        return ()
    size = prod(shape) * _item_size(made.dtype)
    if not size:
        return ()
    text = (
        f"The tensor is not copied. Its {size:,} bytes stay in memory until a backward pass without retain_graph has "
        "run the Node, or until the graph is gone."
    )
    return (Statement("memory of a saved tensor", text, (SavedBytes(tensor, size),)),)


def _tensor(trace: Trace, tensor: int, at: int) -> str:
    name = tensor_name(trace, tensor, at)
    return name if " " in name else f"the tensor {name}"


def _item_size(dtype: str) -> int:
    """The bytes of an element of ``torch.float32``; 0 if the name contains no size."""
    number = _NUMBERS.fullmatch(dtype)
    return int(number[1]) // 8 if number else int(dtype == "torch.bool")


_NUMBERS = re.compile(r"torch\.(?:b?float|u?int|complex)(\d+)")


def why_not_saved(trace: Trace, event: ev.VariableNotSaved) -> Statement:
    """The sentence on a tensor that no formula would use."""
    text = (
        f"{node_title(trace, event.node, event.seq)} does not save {event.name}, because only the formula of its "
        f"{ordinal(event.edge + 1)} edge uses it and that edge is empty."
    )
    return Statement("tensor not saved", text, (NodeKeeps(event.node, event.name, None),))


def why_hook(trace: Trace, event: ev.SavedTensorHookRan) -> Statement:
    """The sentence on a hook that packs or unpacks a tensor."""
    tensor = tensor_name(trace, event.tensor, event.seq)
    if event.kind == "pack hook":
        text = f"The pack hook {event.function} gets {tensor}, and the {event.packed} that it returns is saved instead."
        return Statement("pack hook ran", text)
    text = f"The unpack hook {event.function} turns the saved {event.packed} into {tensor}."
    return Statement("unpack hook ran", text)
