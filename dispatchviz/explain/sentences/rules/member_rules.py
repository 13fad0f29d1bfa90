"""The rules of Nodes' members: what always holds for each, and where PyTorch does it."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.locations.pytorch_locations import NODE
from dispatchviz.explain.sentences import event_groups
from dispatchviz.explain.sentences.rules.engine_rules import Facts

_ANOMALY = "torch/csrc/autograd/python_anomaly_mode.cpp"

_HOOK = "torch/csrc/autograd/function_hook.h"

_RULES: dict[type[ev.Event], Facts] = {
    ev.SequenceNumberSet: (
        "Only Nodes that are ready compete: a branch comes first if all its Nodes have larger numbers.",
        "torch::autograd::Node::set_sequence_nr",
        NODE,
    ),
    ev.UndefinedInputAdded: (
        "A Node has an entry of input_metadata for each forward output, a placeholder where there is no such tensor.",
        "torch::autograd::Node::add_input_metadata",
        NODE,
    ),
    ev.StackStored: (
        "In anomaly mode the constructor of a Node stores the Python stack, then assigns the parent.",
        "torch::autograd::PyAnomalyMetadata::store_stack",
        _ANOMALY,
    ),
    ev.ParentAssigned: (
        "The parent is the Node that is being evaluated: only a backward that is recorded (create_graph) has one.",
        "torch::autograd::PyAnomalyMetadata::assign_parent",
        _ANOMALY,
    ),
    ev.HookRegistered: (
        (
            "A tensor's hooks are kept by its grad_fn, a leaf's by the leaf; hooks registered on a Node by the Node. "
            "They run in the order of registration."
        ),
        "torch::autograd::FunctionPreHook",
        _HOOK,
    ),
    ev.HookRemoved: (
        "A handle removes its hook once; a list of hooks is copied before it is run.",
        "RemovableHandle.remove",
        "torch/utils/hooks.py",
    ),
}


def member_rule(event: event_groups.MemberEvent) -> Facts:
    """The rule that the setting of a member follows."""
    return _RULES[type(event)]
