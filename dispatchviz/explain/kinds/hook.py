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
    "Tensor pre hooks run first, then retains-grad hooks, then the Node's pre hooks; post hooks run after the Node, "
    "post-accumulate hooks once .grad is written."
)


_PYTHON_HOOKS = "torch/csrc/autograd/python_hook.cpp"


_HOOKS = {
    "tensor pre hook": ("torch::autograd::PyFunctionTensorPreHook::operator()", _PYTHON_HOOKS),
    "retains-grad hook": ("torch::autograd::VariableHooks::retain_grad", "torch/csrc/autograd/variable.cpp"),
    "pre hook": ("torch::autograd::PyFunctionPreHook::operator()", _PYTHON_HOOKS),
    "post hook": ("torch::autograd::PyFunctionPostHook::operator()", _PYTHON_HOOKS),
    "post-accumulate hook": ("torch::autograd::PyFunctionTensorPostAccGradHooks::operator()", _PYTHON_HOOKS),
}
"""Where PyTorch calls a hook of each kind; in which order is the business of the engine."""


def _hook(trace: Trace, event: ev.HookRan) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if event.kind == "retains-grad hook":
        if event.kept:
            text = (
                f"retain_grad() retains the gradient that arrives at {node}: it is copied into .grad of its tensor, "
                "or added to what is there."
            )
            return Statement("gradient retained", text)
        text = (
            f"retain_grad() would retain the gradient that arrives at {node}, but it is undefined, or the tensor is "
            "gone: no .grad is written."
        )
        return Statement("no gradient retained", text)
    called = f"A {event.kind} of {node} is called, {event.function}"
    if event.replaced:
        text = f"{called}, and what it returns replaces {_replaceable(event.kind)}."
        return Statement("hook replaces gradients", text)
    if event.kind == "post-accumulate hook":
        return Statement("hook after accumulation", f"{called}: .grad of the leaf is up to date by now.")
    return Statement(
        "hook replaces nothing", f"{called}, and returns nothing that replaces {_replaceable(event.kind)}."
    )


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
    "tensor pre hook": "It gets the gradient of {tensor} when that is complete, and may replace it.",
    "retains-grad hook": "It writes the gradient of {tensor}, as the tensor pre hooks leave it, to {grad}.",
    "pre hook": "It gets all gradients that arrive at the Node before the Node runs, and may replace them.",
    "post hook": "It gets what the Node returned and what it was given, and may replace what it returned.",
    "post-accumulate hook": "It gets {tensor} itself once {grad} is written, and must return None.",
}
"""When a hook of each kind is called, and with what."""


def _registered(trace: Trace, event: ev.HookRegistered) -> Statement:
    tensor = "the tensor" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    named, grad = () if event.tensor is None else (tensor,), attribute(tensor, "grad")
    keeper = tensor if event.node is None else node_title(trace, event.node, event.seq)
    if event.moved:
        text = (
            f"{capital(tensor, named)} has another grad_fn, {keeper}, and its retains-grad hook goes along: "
            f"{grad} will be the gradient of what it holds now. Its tensor pre hooks stay with the Node before."
        )
        return Statement("retains-grad hook moved", text)
    when = _WHEN[event.kind].format(tensor=tensor, grad=grad)
    return Statement("hook registered", f"{capital(keeper, named)} keeps a {event.kind}, {event.function}. {when}")


def _removed(trace: Trace, event: ev.HookRemoved) -> Statement:
    hook = registration(trace, event.hook)
    what = f"The {hook.kind} {hook.function}" if hook else "A hook"
    text = f"{what} is removed: its handle was told to."
    return Statement("hook removed", text)


def _hook_label(trace: Trace, event: ev.HookRegistered) -> str:
    moved = " goes along" if event.moved else ""
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
            "The innermost pair of hooks packs what is saved; what it returns is kept, and no version is compared.",
            "torch::autograd::SavedVariable",
            "torch/csrc/autograd/saved_variable.cpp",
        ),
        known=unseen("of hooks that pack and unpack only the lines of the program's own are seen"),
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
        known=Known("observed", "the engine calls the hook by way of what stands in its place meanwhile"),
        level="calls",
    )
    | Kind(
        ev.HookRegistered,
        group="forward",
        label=_hook_label,
        why=_registered,
        rule=Rule(
            "A tensor's hooks are kept by its grad_fn, a leaf's by the leaf; hooks registered on a Node by the Node. "
            "They run in the order of registration.",
            "torch::autograd::FunctionPreHook",
            _HOOK,
        ),
        known=Known("observed", "a handle is made, or a tensor retains its gradient from then on"),
    )
    | Kind(
        ev.HookRemoved,
        group="forward",
        label=_removed_label,
        why=_removed,
        rule=Rule(
            "A handle removes its hook once; a list of hooks is copied before it is run.",
            "RemovableHandle.remove",
            "torch/utils/hooks.py",
        ),
        known=Known("observed", "remove() of the handle that was made with the hook"),
    )
)
