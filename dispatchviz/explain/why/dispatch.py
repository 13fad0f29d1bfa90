"""Sentences of the dispatcher: calls, key sets, fallthroughs, cells, kernels, boxing."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.keyset import highest
from dispatchviz.core.trace import Trace
from dispatchviz.explain.calls import call_text
from dispatchviz.explain.english import capital, counted, hexed, listed
from dispatchviz.explain.groups import DispatchEvent
from dispatchviz.explain.key_reasons import grad_note, higher_keys_kept_out, origin
from dispatchviz.explain.key_words import functionalities, is_autograd, is_backend, shown
from dispatchviz.explain.masks import mask_of
from dispatchviz.explain.names import node_title, tensor_names
from dispatchviz.explain.places import debug_file
from dispatchviz.explain.statement import Said
from dispatchviz.explain.surroundings import around, caller, kernel_before, key_of_kernel, within
from dispatchviz.explain.why import autocast, functorch, torch_dispatch


def why(trace: Trace, event: DispatchEvent) -> Said | str:
    """Why this step of a dispatch happens."""
    match event:
        case ev.Dispatched():
            return _redispatched(trace, event) if event.how.startswith("re") else _called(trace, event)
        case ev.KeySetComputed():
            return _key_set(trace, event)
        case ev.FallthroughSkipped():
            return _skipped(trace, event)
        case ev.KernelSelected():
            return _selected(event)
        case ev.KernelEntered():
            return _entered(trace, event)
        case ev.KernelReturned():
            kernel = trace[event.parent] if event.parent is not None else None
            name = _subject(kernel.kernel) if isinstance(kernel, ev.KernelEntered) else "The kernel"
            result = tensor_names(trace, event.tensors, event.seq)
            return f"{name} is done{f' and returns {result}' if result else ''}."
        case ev.Boxed() if _converted_before(trace, event):
            many = "goes" if event.values == 1 else "go"
            return (
                f"What the kernel of {event.operator} gave, {counted(event.values, 'value')}, {many} onto the caller's "
                "stack."
            )
        case ev.Boxed():
            return (
                f"The arguments of {event.operator}, {counted(event.values, 'value')}, go onto a stack: the kernel is "
                "boxed, one function that serves many operators and so cannot have their types."
            )
        case ev.Unboxed():
            return (
                f"{capital(counted(event.values, 'value'))} of {event.operator} "
                f"{'comes' if event.values == 1 else 'come'} off the stack again, for code that knows the types."
            )
        case ev.TorchDispatchEntered():
            return torch_dispatch.entered(trace, event)
        case ev.TorchDispatchLeft():
            return torch_dispatch.left(trace, event)
        case _:
            assert_never(event)


def _converted_before(trace: Trace, event: ev.Boxed) -> bool:
    """A kernel converts twice: first the arguments, then the results."""
    before = trace.children(event.parent) if event.parent is not None else ()
    return any(isinstance(other, ev.Unboxed) and other.seq < event.seq for other in before)


def _called(trace: Trace, event: ev.Dispatched) -> str:
    if event.how == "callBoxedForDispatchKey":
        return (
            f"The kernel was chosen by key: no table is asked. The key set that it gets is computed anew, so it is "
            f"{hexed(event.key_set)} again, {event.key} included."
        )
    pick = f"The highest key of its key set picks the kernel: {event.key}."
    boxed = " Its arguments come on a stack (boxed)." if "Boxed" in event.how else ""
    return f"{_asked(trace, event)} {pick}{boxed}"


def _asked(trace: Trace, event: ev.Dispatched) -> str:
    match caller(trace, event.seq):
        case ev.BindingEntered() as binding:
            return f"{call_text(trace, binding)} calls the operator {event.operator}."
        case ev.KernelEntered() as kernel if passed := functorch.passed_on(trace, kernel, event):
            return passed
        case ev.KernelEntered() as kernel:
            return (
                f"{kernel.kernel} needs {event.operator} for its work: a call from the top, with a key set of its own."
            )
        case ev.NodeStarted() as node:
            title = node_title(trace, node.node, event.seq)
            return f"{title} needs {event.operator} for the gradient: an ordinary call, from the top."
        case ev.BackwardStarted():
            return f"The engine calls the operator {event.operator}."
        case ev.SourceLine() as line if event.operator == "aten::ones_like" and event.parent != line.seq:
            return (
                "The backward pass was given no gradient to start with, so it makes one of ones with aten::ones_like."
            )
        case _:
            return f"The program calls the operator {event.operator}."


def _redispatched(trace: Trace, event: ev.Dispatched) -> str:
    kernel = kernel_before(trace, event)
    if kernel is None:
        return f"{event.operator} is called with a given key set, {shown(event.key_set)}: {event.key} is next."
    if key_of_kernel(trace, kernel) == "BackendSelect":
        return (
            f"The BackendSelect kernel of {event.operator} has found out the device, makes the key set for it, "
            f"{shown(event.key_set)}, and passes the call on with that: {event.key} is next."
        )
    mask = mask_of(trace, event)
    masks = f"masks it with {mask.name}, which keeps {mask.keeps}" if mask else "changes it"
    return (
        f"{kernel.kernel} passes the call on. It received {shown(kernel.key_set)} and {masks}: "
        f"{shown(event.key_set)} is left, so {event.key} is next."
    )


def _key_set(trace: Trace, event: ev.KeySetComputed) -> str:
    winner = next(functionalities(event.effective), None)
    if winner is None:
        return "No key is left: no argument brings one, or all of them are kept out."
    name = highest(event.effective).name
    if is_autograd(name):
        return f"{name} is the highest key left and wins: {origin(trace, event, winner)}. {grad_note(trace, event)}"
    first = f"{name} is the highest key left and wins: {_reason_in_short(trace, event, winner)}."
    kept_out = higher_keys_kept_out(trace, event)
    return f"{first} {capital(kept_out)}." if kept_out else first


def _reason_in_short(trace: Trace, event: ev.KeySetComputed, winner: DispatchKey) -> str:
    if not event.arguments and event.generator:
        device = highest(event.generator).name
        return f"no argument is a tensor, the generator brings {device}, and {origin(trace, event, winner)}"
    if not event.arguments:
        return f"no argument is a tensor, so no argument brings a key, and {origin(trace, event, winner)}"
    return origin(trace, event, winner)


def _skipped(trace: Trace, event: ev.FallthroughSkipped) -> str:
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "this operator"
    names = [name for name, _, _ in event.keys] or ["Nothing"]
    one = len(names) == 1
    return (
        f"{listed(names)} {'was' if one else 'were'} in the set too, but {operator} has nothing to do there: "
        f'{"its cell holds" if one else "their cells hold"} a fallthrough ("go on to the next key"), and the '
        f"operator's mask leaves such keys out. {_owners(event, operator)}"
    )


def _owners(event: ev.FallthroughSkipped, operator: str) -> str:
    """Whose the fallthroughs are."""
    fallbacks = [(name, where) for name, reason, where in event.keys if reason == "backend fallback"]
    own = [(name, where) for name, reason, where in event.keys if reason != "backend fallback"]
    parts = []
    if fallbacks:
        files = ", ".join(debug_file(where) for _, where in fallbacks)
        whose = "It is the key's own fallback" if len(fallbacks) == 1 else "They are the keys' own fallbacks"
        if own:
            whose = f"{listed([name for name, _ in fallbacks])}: the key's own fallback"
        parts.append(f"{whose}, used by every operator that registers nothing else there ({files}).")
    if own:
        files = ", ".join(dict.fromkeys(debug_file(where) for _, where in own))
        parts.append(f"{listed([name for name, _ in own])}: registered for {operator} itself ({files}).")
    return " ".join(parts)


def _selected(event: ev.KernelSelected) -> str:
    if event.reason == "missing" or not event.kernel:
        return f"{event.operator} has no kernel for {event.key}: its cell is empty, and calling it is an error."
    return f"The {event.key} cell of {event.operator} holds {_named(event.kernel)}, {_claim(event)}"


def _named(kernel: str) -> str:
    """Some kernels are called like their operator; such a name alone would puzzle."""
    return kernel if _telling(kernel) else f"a function named {kernel}"


def _subject(kernel: str) -> str:
    return kernel if _telling(kernel) else f"The kernel {kernel}"


def _telling(kernel: str) -> bool:
    return "::" in kernel or "wrapper_" in kernel


def _claim(event: ev.KernelSelected) -> str:
    """Why that kernel is in the cell, as the end of a sentence and perhaps a second one."""
    nothing = f"Nothing is registered for {event.key} itself"
    alias = f"the kernel registered to the alias key {event.source}"
    match event.reason:
        case "kernel":
            return f"registered for {event.key} itself: no other claim comes before that."
        case "autograd kernel":
            return (
                f"{alias}. {nothing}, so the alias filled this cell when the table was built, as it did for every "
                "autograd key without a better claim."
            )
        case "default backend kernel":
            most = "most " if event.source.endswith("NonFunctional") else ""
            return f"{alias}. {nothing}, and that alias serves {most}backends without a kernel of their own."
        case "math kernel":
            backend = event.key.removeprefix("Autograd")
            nor = f", nor for {backend}" if is_autograd(event.key) and is_backend(backend) else ""
            return f"{alias}. {nothing}{nor}. It is written in terms of other operators, which bring their derivatives."
        case "backend fallback":
            return (
                f"the fallback that {event.key} has for all operators: this one registers nothing that covers the key."
            )
        case "ambiguous autogradother":
            return "which raises an error: a composite kernel and a backend kernel both claim the cell."
        case _:
            return f"{alias}. {nothing}."


def _entered(trace: Trace, event: ev.KernelEntered) -> str:
    call = around(trace, event.seq, ev.Dispatched)
    if call is None:
        return f"{_subject(event.kernel)} runs."
    chosen = within(trace, call.seq, ev.KernelSelected)
    return f"{_subject(event.kernel)} runs. {_task(trace, event, call, chosen.reason if chosen else '')}"


def _task(trace: Trace, event: ev.KernelEntered, call: ev.Dispatched, reason: str) -> str:
    """What the kernel that now runs is for."""
    if reason == "math kernel":
        return "It computes the result by calling other operators, each of them through the dispatcher."
    if is_autograd(call.key):
        if reason == "backend fallback":
            return (
                f"{call.operator} has no autograd kernel: this fallback only passes the call on and records no "
                "derivative. Unless the kernel below calls differentiable operators itself, the gradient of "
                f"{call.operator} is lost here."
            )
        return _autograd_task(trace, event, call.operator.partition("::")[2])
    if call.key == "ADInplaceOrView":
        after = "ties the result, a view, to its base" if _is_view(trace, event) else "counts the tensor's version up"
        return f"It lets the kernel below do the work and then {after}."
    if call.key == "BackendSelect":
        return "It looks up which device was asked for, makes the key set of that device and passes the call on."
    if call.key.startswith("Autocast") and (cast := autocast.task(call.operator, call.key)):
        return cast
    if transform := functorch.task(call.key, reason):
        return transform
    if is_backend(call.key):
        return f"It does the work on {call.key}{_emulated(trace, call.key)}."
    return f"Its key set is {shown(event.key_set)}."


def _autograd_task(trace: Trace, event: ev.KernelEntered, operator: str) -> str:
    """Most autograd kernels record; those of some operators have nothing to record, or the opposite to do."""
    following = trace[event.seq + 1] if event.seq + 1 < len(trace) else None
    if operator in ("detach", "detach_"):
        whose = "the tensor itself" if operator == "detach_" else "the result"
        return f"It is written by hand: {whose} shall have no history, so no Node is made."
    if operator.endswith("out") and "." in operator:
        return "It makes sure that nothing has to be recorded (out= has no derivative) and passes the call on."
    if isinstance(following, ev.NoNodeMade) and following.why == "never differentiable":
        return "It computes nothing and has nothing to record here: it passes the call on to the keys below."
    return (
        "It computes nothing itself: if an input requires grad it writes down the way back (a Node), then it "
        "passes the call on to the keys below."
    )


def _emulated(trace: Trace, key: str) -> str:
    return ", here emulated with NumPy" if "CUDA" in key and trace.header.cuda.startswith("emulated") else ""


def _is_view(trace: Trace, kernel: ev.KernelEntered) -> bool:
    """In-place and out= operators end in a moved version, view operators in a view."""
    call = around(trace, kernel.seq, ev.Dispatched)
    name, _, overload = call.operator.partition("::")[2].partition(".") if call else ("", "", "")
    return not (name.endswith("_") or overload.endswith("out"))
