"""Hooks of tensors, Nodes and saved tensors."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.node.node_hooks import registration
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    ENGINE,
)
from dispatchviz.explain.sentences import (
    saved_variable_sentences,
)
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import attribute, node_title, tensor_name
from dispatchviz.foundation.english import capital, shortened

_HOOK_ORDER = (
    "Tensor pre hooks run first, then retains-grad hooks, then the Node's pre hooks. Post hooks run after the Node, "
    "and post-accumulate hooks once .grad is written."
)


_PYTHON_HOOKS = "torch/csrc/autograd/python_hook.cpp"


_HOOKS = {
    "tensor pre hook": ("torch::autograd::PyFunctionTensorPreHook::operator()", _PYTHON_HOOKS),
    "retains-grad hook": ("torch::autograd::VariableHooks::retain_grad", "torch/csrc/autograd/variable.cpp"),
    "pre hook": ("torch::autograd::PyFunctionPreHook::operator()", _PYTHON_HOOKS),
    "post hook": ("torch::autograd::PyFunctionPostHook::operator()", _PYTHON_HOOKS),
    "post-accumulate hook": ("torch::autograd::PyFunctionTensorPostAccGradHooks::operator()", _PYTHON_HOOKS),
}
"""The place where PyTorch calls a hook of each kind. The engine decides their order."""


def _hook(trace: Trace, event: ev.HookRan) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if event.kind == "retains-grad hook":
        if event.kept:
            text = (
                f"retain_grad() keeps the gradient that arrives at {node}. It copies the gradient into .grad of the "
                "tensor, or adds it to the .grad that is there."
            )
            return Statement("gradient retained", text)
        text = (
            f"retain_grad() writes no .grad, because the gradient that arrives at {node} is undefined or the tensor no "
            "longer exists."
        )
        return Statement("no gradient retained", text)
    runs = f"The {event.kind} {event.function} of {node} runs"
    if event.replaced:
        text = f"{runs}, and its result replaces {_replaceable(event.kind)}."
        return Statement("hook replaces gradients", text)
    if event.kind == "post-accumulate hook":
        return Statement("hook after accumulation", f"{runs} now that .grad of the leaf is up to date.")
    return Statement("hook replaces nothing", f"{runs} and does not replace {_replaceable(event.kind)}.")


def _replaceable(kind: str) -> str:
    """Name the gradient that a hook of a kind may replace."""
    return {
        "tensor pre hook": "the gradient of its tensor",
        "pre hook": "the gradients that the Node receives",
        "post hook": "the gradients that the Node returned",
    }.get(kind, "a gradient")


def _saved_hook_label(trace: Trace, event: ev.SavedTensorHookRan) -> str:
    return f"{event.kind} {event.function}: {tensor_name(trace, event.tensor, event.seq)}"


_HOOK = "torch/csrc/autograd/function_hook.h"


_WHEN: dict[ev.HookKind, str] = {
    "tensor pre hook": "The hook gets the complete gradient of {tensor} and may replace it.",
    "retains-grad hook": "After the tensor pre hooks, it writes the gradient of {tensor} to {grad}.",
    "pre hook": "Before the Node runs, the hook gets all gradients that arrive there and may replace them.",
    "post hook": "The hook gets the inputs and the results of the Node, and may replace the results.",
    "post-accumulate hook": "The hook gets {tensor} itself once {grad} is written, and must return None.",
}
"""The time when a hook of each kind is called, and its arguments."""


def _registered(trace: Trace, event: ev.HookRegistered) -> Statement:
    tensor = "the tensor" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    named, grad = () if event.tensor is None else (tensor,), attribute(tensor, "grad")
    keeper = tensor if event.node is None else node_title(trace, event.node, event.seq)
    if event.moved:
        text = (
            f"{capital(tensor, named)} has a new grad_fn, {keeper}, and its retains-grad hook moves there: {grad} will "
            "be the gradient of the new value. Its tensor pre hooks stay with the old Node."
        )
        return Statement("retains-grad hook moved", text)
    when = _WHEN[event.kind].format(tensor=tensor, grad=grad)
    return Statement("hook registered", f"{capital(keeper, named)} keeps the {event.kind} {event.function}. {when}")


def _removed(trace: Trace, event: ev.HookRemoved) -> Statement:
    hook = registration(trace, event.hook)
    what = f"The {hook.kind} {hook.function}" if hook else "A hook"
    text = f"{what} is removed, because remove() of its handle was called."
    return Statement("hook removed", text)


def _hook_label(trace: Trace, event: ev.HookRegistered) -> str:
    moved = " moved" if event.moved else ""
    return shortened(f"{event.kind} {event.function}{moved}: {_keeper_label(trace, event)}", WIDTH)


def _keeper_label(trace: Trace, event: ev.HookRegistered) -> str:
    if event.tensor is not None:
        return tensor_name(trace, event.tensor, event.seq)
    return "a Node" if event.node is None else node_title(trace, event.node, event.seq)


def _removed_label(trace: Trace, event: ev.HookRemoved) -> str:
    hook = registration(trace, event.hook)
    return shortened(f"{hook.kind} {hook.function} removed", WIDTH) if hook else "a hook is removed"


HOOK_KINDS = (
    Kind(
        ev.SavedTensorHookRan,
        group="forward",
        label=_saved_hook_label,
        why=saved_variable_sentences.why_hook,
        rule=Rule(
            "The innermost pair of hooks packs a saved tensor. Its result is kept, and no version is compared.",
            "torch::autograd::SavedVariable",
            "torch/csrc/autograd/saved_variable.cpp",
        ),
        known=unseen("pack and unpack hooks show only their lines in the program"),
        panes=("backward graph", "source"),
    )
    | Kind(
        ev.HookRan,
        group="engine",
        label=lambda trace, event: shortened(f"{event.kind} {event.function}", WIDTH),
        why=_hook,
        rule=lambda event: Rule(
            _HOOK_ORDER, *_HOOKS.get(event.kind, ("torch::autograd::Engine::evaluate_function", ENGINE))
        ),
        known=Known("observed", "the engine calls a wrapper in place of the hook"),
        level="calls",
    )
    | Kind(
        ev.HookRegistered,
        group="forward",
        label=_hook_label,
        why=_registered,
        rule=Rule(
            "The grad_fn of a tensor keeps its hooks, a leaf keeps its own, and a Node keeps the hooks that are "
            "registered on it. Hooks run in the order of registration.",
            "torch::autograd::FunctionPreHook",
            _HOOK,
        ),
        known=Known("observed", "a handle is created, or a tensor begins to retain its gradient"),
    )
    | Kind(
        ev.HookRemoved,
        group="forward",
        label=_removed_label,
        why=_removed,
        rule=Rule(
            "A handle removes its hook once. The list of hooks is copied before the hooks run.",
            "RemovableHandle.remove",
            "torch/utils/hooks.py",
        ),
        known=Known("observed", "remove() of the hook's handle is called"),
    )
)
