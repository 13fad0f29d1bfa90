"""Checks of the forward side of autograd: histories, views, versions, saved variables, and errors in unpacking.

A claim of a step is about that step, but PyTorch is asked after the statement. If the same statement went on to change
the claimed fact, PyTorch cannot be asked.
"""

from __future__ import annotations

import contextlib
import re
from functools import lru_cache
from typing import Any

import torch

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.sentence_claims import (
    BackwardRaises,
    Dtype,
    History,
    NodeEdges,
    NodeKeeps,
    NodeRaises,
    RequiresGrad,
    SavedBytes,
    TensorKeys,
    Version,
    View,
    WriteRaises,
)
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.trace import Trace
from tests.claims.checks import Answer, Question, checks, difference

IN_PLACE = "modified by an inplace operation"
DETACHED = "Trying to use a saved tensor that has been detached in-place"
WRITES = re.compile("This view |was created in (no_grad|inference) mode")


def history_moves(question: Question, tensor: int) -> bool:
    """Return whether the statement later changed a tensor's history or flag, or those of its base."""
    moves = question.later(ev.HistorySet, ev.HistoryRebased, ev.RequiresGradSet)
    base = _bases(question.trace).get(tensor, tensor)
    return any(event.tensor in (tensor, base) for event in moves)


@lru_cache(maxsize=1)
def _bases(trace: Trace) -> dict[int, int]:
    """Return the first base of each view."""
    return {event.tensor: event.base for event in reversed(trace) if isinstance(event, ev.ViewMade)}


def version_moves(question: Question, tensor: int) -> bool:
    """Return whether the statement later wrote to the memory of a tensor."""
    known = index(question.trace).tensors
    storage = known[tensor].storage if tensor in known else -1
    bumped = [event.tensor for event in question.later(ev.VersionBumped)]
    return any(other == tensor or (other in known and known[other].storage == storage) for other in bumped)


def real_tensor(question: Question, number: int) -> Any:
    """Return PyTorch's tensor, or None if no variable names it."""
    name = question.tensor(number)
    return None if name is None else question.pytorch.tensor(name)


def real_node(question: Question, number: int) -> Any:
    """Return PyTorch's Node, or None if there is none or another one: a view's grad_fn is regenerated when read."""
    path = question.node(number)
    made = index(question.trace).nodes.get(number)
    if path is None or made is None:
        return None
    with contextlib.suppress(RuntimeError):  # a stale view that must not be read any more
        node = question.pytorch.node(path)
        if node is not None and node.name() == made.name:
            return node
    return None


# -- refusals ---------------------------------------------------------------------------------------------------------


@checks(BackwardRaises)
def backward_raises(claim: BackwardRaises, question: Question) -> Answer:
    """Read the saved variable, which unpacks it as the formula does. A Node that must raise is run as well."""
    node = real_node(question, claim.node)
    if node is None or released_later(question, claim):
        return None
    if not claim.raises:
        return difference("", in_place_error(node, claim.name))
    if claim.message.startswith(DETACHED):  # the attribute names the history, the formula does not
        return difference(True, DETACHED in error_of_running(node))
    error = error_of(lambda: unpacked(node, claim.name))
    return difference((True, True), (claim.message in error, claim.message in error_of_running(node)))


def released_later(question: Question, claim: BackwardRaises) -> bool:
    """Return whether the statement later changed a tensor that the Node saved."""
    if not claim.raises and any(question.later(ev.VersionBumped)):
        return True
    packed = (event for event in question.later(ev.SavedTensorHookRan) if event.kind == "pack hook")
    return any(event.node == claim.node for event in (*question.later(ev.VariablesReleased), *packed))


def unpacked(node: Any, name: str) -> Any:
    """The value that a Node saved under a name. Those of a Function are one tuple; members of a list have no own
    attribute.
    """
    plain = name.partition("[")[0]
    return getattr(node, plain if plain == "saved_tensors" else f"_saved_{plain}")


def in_place_error(node: Any, name: str) -> str:
    """Return the message of the in-place error, or an empty string if there is none or another error."""
    error = error_of(lambda: unpacked(node, name))
    return error if IN_PLACE in error else ""


def error_of_running(node: Any) -> str:
    """Return the message of the error of a Node's formula. A Function's Node cannot be run, so its saved tensors are
    read.
    """
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return error_of(lambda: node.saved_tensors)
    zeros = [torch.zeros(list(entry.shape), dtype=entry.dtype) for entry in node._input_metadata]
    return error_of(lambda: node(*zeros))


def error_of(action: Any) -> str:
    """Return the message of the error that an action raises, or an empty string."""
    try:
        action()
    except Exception as error:  # including a hook's own
        return str(error)
    return ""


@checks(NodeRaises)
def node_raises(claim: NodeRaises, question: Question) -> Answer:
    node = real_node(question, claim.node)
    if node is None:
        return None
    error = error_of_running(node)
    return difference(claim.message, claim.message if claim.message in error else error)


@checks(WriteRaises)
def write_raises(claim: WriteRaises, question: Question) -> Answer:
    """Write to the tensor, in a separate run."""
    name = question.tensor(claim.tensor)
    if name is None or history_moves(question, claim.tensor):
        return None
    tensor = question.fresh_run().tensor(name)
    value = torch.ones((), dtype=tensor.dtype, requires_grad=True) if claim.value_requires_grad else 2
    with torch.inference_mode(False), torch.enable_grad():
        error = error_of(lambda: tensor.mul_(value))
    if claim.message:
        return difference(claim.message, claim.message if claim.message in error else error)
    return difference("", error if WRITES.search(error) else "")


# -- Nodes and histories ----------------------------------------------------------------------------------------------


@checks(NodeKeeps)
def node_keeps(claim: NodeKeeps, question: Question) -> Answer:
    """Compare the slot of the same name."""
    node = real_node(question, claim.node)
    if node is None or claim.name.endswith("]"):
        return None
    try:
        kept = unpacked(node, claim.name)
    except RuntimeError:  # released or changed later in the statement
        return None
    if claim.tensor is None or kept is None or isinstance(kept, (list, tuple)):
        return None if isinstance(kept, (list, tuple)) else difference(claim.tensor is None, kept is None)
    tensor = real_tensor(question, claim.tensor)
    return None if tensor is None else difference(place(tensor), place(kept))


def place(tensor: Any) -> Any:
    """Return the address, sizes and strides of a tensor."""
    return tensor.data_ptr(), list(tensor.shape), tensor.dtype


@checks(NodeEdges)
def node_edges(claim: NodeEdges, question: Question) -> Answer:
    node = real_node(question, claim.node)
    if node is None:
        return None
    targets = tuple("" if t is None else t.name() for t, _ in node.next_functions)
    return difference((claim.targets, claim.numbers), (targets, tuple(number for _, number in node.next_functions)))


@checks(SavedBytes)
def saved_bytes(claim: SavedBytes, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    return None if tensor is None else difference(claim.size, tensor.nbytes)


@checks(History)
def history(claim: History, question: Question) -> Answer:
    """Follow the first edges from ``grad_fn``."""
    tensor = real_tensor(question, claim.tensor)
    if tensor is None or history_moves(question, claim.tensor) or version_moves(question, claim.tensor):
        return None
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return difference((claim.output_nr, claim.nodes), (tensor.output_nr, tuple(found[: len(claim.nodes)])))


# -- tensors ----------------------------------------------------------------------------------------------------------


@checks(RequiresGrad)
def requires_grad(claim: RequiresGrad, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    if tensor is None or history_moves(question, claim.tensor):
        return None
    return difference(claim.requires_grad, tensor.requires_grad)


@checks(View)
def view(claim: View, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    if tensor is None:
        return None
    if not tensor._is_view():
        return "it is no view"
    base = real_tensor(question, claim.base)
    return "" if base is None or tensor._base is base else "it is a view of another tensor"


@checks(Version)
def version(claim: Version, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    if tensor is None or version_moves(question, claim.tensor):
        return None
    return difference(claim.version, tensor._version)


@checks(TensorKeys)
def tensor_keys(claim: TensorKeys, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    if tensor is None or any(event.tensor == claim.tensor for event in question.later(ev.KeySetChanged)):
        return None
    return difference(hex(claim.key_set), hex(torch._C._dispatch_keys(tensor).raw_repr()))


@checks(Dtype)
def dtype(claim: Dtype, question: Question) -> Answer:
    tensor = real_tensor(question, claim.tensor)
    return None if tensor is None else difference(claim.dtype, str(tensor.dtype))
