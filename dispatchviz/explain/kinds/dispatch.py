"""Calls: key sets, fallthroughs, cells, boxing; the sentences of kernels are in ``kernel_sentences``."""

from __future__ import annotations

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.calls.key_reasons import grad_note, higher_keys_kept_out, origin
from dispatchviz.explain.calls.redispatch_masks import mask_of
from dispatchviz.explain.calls.stack_text import stack_values
from dispatchviz.explain.keys.key_text import functionalities, is_autograd, is_backend, keys_text
from dispatchviz.explain.keys.own_numbers import own_cell, own_hex, own_shown
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.native_files import kernel_file
from dispatchviz.explain.locations.pytorch_locations import (
    ENTRY,
    debug_file,
    entry_point,
)
from dispatchviz.explain.sentences import functorch_sentences, kernel_sentences
from dispatchviz.explain.sentences.sentence_claims import CellHolds, NamedSet, RequiresGrad, TensorKeys
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around, caller, kernel_before, key_of_kernel
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital, counted, listed, shortened


def _selected_label(trace: Trace, event: ev.KernelSelected) -> str:
    cell = own_cell(trace.header, event.key, event.cell)
    return f"cell {cell} {event.key}: {event.kernel or 'empty'}"


def _returned_label(trace: Trace, event: ev.KernelReturned) -> str:
    names = ", ".join([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
    return shortened(f"returns {names}", WIDTH) if names else "returns"


def _boxed_label(trace: Trace, event: ev.Boxed) -> str:
    return _with_contents_label(trace, event, f"boxed {event.values} of {event.operator}")


def _unboxed_label(trace: Trace, event: ev.Unboxed) -> str:
    return _with_contents_label(trace, event, f"unboxed {event.values} of {event.operator}")


def _with_contents_label(trace: Trace, event: ev.Boxed | ev.Unboxed, label: str) -> str:
    values = stack_values(trace, event)
    return shortened(f"{label}: {', '.join(values)}", WIDTH) if values else label


def _boxed(trace: Trace, event: ev.Boxed) -> Statement:
    values = counted(event.values, "value")
    if _converted_before(trace, event):
        are = "is" if event.values == 1 else "are"
        text = f"What the kernel of {event.operator} returned, {values}, {are} pushed onto the caller's stack."
        return Statement("boxed results", text)
    return Statement(
        "boxed arguments",
        f"The arguments of {event.operator}, {values}, are pushed onto a stack: the kernel is boxed, it takes a stack "
        "of IValues instead of the operator's own parameters.",
    )


def _unboxed(event: ev.Unboxed) -> Statement:
    values, are = counted(event.values, "value"), "is" if event.values == 1 else "are"
    text = f"{capital(values)} of {event.operator} {are} popped off the stack, for code that takes typed arguments."
    return Statement("unboxed", text)


def _contents(trace: Trace, event: ev.Boxed | ev.Unboxed) -> Statements:
    values = stack_values(trace, event)
    if not values:
        return ()
    tagged = "As an IValue" if len(values) == 1 else "As IValues, the deepest first"
    return (Statement("stack contents", f"{tagged}: {listed(values)}."),)


def _converted_before(trace: Trace, event: ev.Boxed) -> bool:
    """A kernel converts twice: first the arguments, then the results."""
    before = trace.children(event.parent) if event.parent is not None else ()
    return any(isinstance(other, ev.Unboxed) and other.seq < event.seq for other in before)


def _called(trace: Trace, event: ev.Dispatched) -> Statements:
    if event.how == "callBoxedForDispatchKey":
        return Statement(
            "call for a key",
            "The kernel was chosen by key, not by the highest key of a set. The key set that it gets is computed from "
            f"the arguments all the same: {own_hex(trace.header, event.key_set)}, {event.key} included.",
        )
    pick = Statement("call: highest key", f"The highest key of its key set selects the kernel: {event.key}.")
    if "Boxed" in event.how:
        return _caller_sentence(trace, event), pick, Statement("call: boxed", "Its arguments are on a stack (boxed).")
    return _caller_sentence(trace, event), pick


def _caller_sentence(trace: Trace, event: ev.Dispatched) -> Statement:
    operator = event.operator
    match caller(trace, event.seq):
        case ev.BindingEntered() as binding:
            return Statement("called by a binding", f"{call_text(trace, binding)} calls the operator {operator}.")
        case ev.KernelEntered() as kernel if passed := functorch_sentences.passed_on(trace, kernel, event):
            return Statement("called by functorch", passed)
        case ev.KernelEntered() as kernel:
            text = f"{kernel.kernel} calls {operator}: a full dispatch, with a key set of its own."
            return Statement("called by a kernel", text)
        case ev.MetaEntered() | ev.ImplEntered() as part:
            text = f"{part.function} calls {operator}: a full dispatch, with a key set of its own."
            return Statement("called by a structured kernel", text)
        case ev.ForwardFormulaEntered():
            return Statement("called by a forward formula", f"The forward formula calls the operator {operator}.")
        case ev.NodeStarted() as node:
            title = node_title(trace, node.node, event.seq)
            text = f"{title} calls {operator} for the gradient: an ordinary call, with a full dispatch."
            return Statement("called by a Node", text)
        case ev.BackwardStarted():
            return Statement("called by the engine", f"The engine calls the operator {operator}.")
        case ev.SourceLine() as line if operator == "aten::ones_like" and event.parent != line.seq:
            return Statement(
                "called for the first gradient",
                "backward() was called without a gradient, so it starts with one of ones, made with aten::ones_like.",
            )
        case _ as outer:
            return Statement("called by the program", f"{_caller_of(trace, outer)} calls the operator {operator}.")


def _caller_of(trace: Trace, outer: ev.AnyEvent | None) -> str:
    """Code in Python that calls operators without a binding."""
    match outer:
        case ev.FunctionEntered():
            return f"{outer.function}'s forward"
        case ev.TorchDispatchEntered():
            return f"The __torch_dispatch__ of {outer.handler}"
        case ev.TensorFormatted():
            return f"PyTorch's Python code that formats {tensor_name(trace, outer.tensor, outer.seq)}"
        case _:
            return "The program"


def _redispatched(trace: Trace, event: ev.Dispatched) -> Statement:
    kernel, given = kernel_before(trace, event), own_shown(trace.header, event.key_set)
    if kernel is None:
        text = f"{event.operator} is called with a given key set, {given}: {event.key} is next."
        return Statement("redispatch: given set", text)
    if key_of_kernel(trace, kernel) == "BackendSelect":
        return _backend_selected(trace, event)
    mask = mask_of(trace, event)
    masks = f"masks it with {mask.name}, which keeps {mask.keeps}" if mask else "changes it"
    return Statement(
        "redispatch",
        f"{kernel.kernel} redispatches. It received {own_shown(trace.header, kernel.key_set)} and {masks}: {given} is "
        f"left, so {event.key} is next.",
        (NamedSet(mask.name, mask.raw),) if mask else (),
    )


def _backend_selected(trace: Trace, event: ev.Dispatched) -> Statement:
    computed, given = arguments(trace, event.seq), own_shown(trace.header, event.key_set)
    if computed is not None and computed.arguments:
        return Statement(
            "redispatch: BackendSelect with tensors",
            f"The BackendSelect kernel of {event.operator} has looked up the requested device, adds its key to those "
            f"of the tensors, {given}, and redispatches with that set: {event.key} is next.",
        )
    return Statement(
        "redispatch: BackendSelect",
        f"The BackendSelect kernel of {event.operator} has looked up the device, makes the key set for it, "
        f"{given}, and redispatches with that set: {event.key} is next.",
    )


def key_set(trace: Trace, event: ev.KeySetComputed) -> Statement:
    """Which key wins a call, and why."""
    winner = next(functionalities(event.effective), None)
    if winner is None:
        return Statement(
            "key set: empty", f"No key is left, so Undefined wins: {_why_empty(event)}.", _argument_keys(event)
        )
    name = highest(event.effective).name
    if is_autograd(name):
        wins = f"{name} is the highest key left and wins: {origin(trace, event, winner)}."
        text = " ".join(filter(None, (wins, grad_note(trace, event))))
        return Statement("key set: autograd wins", text, (*_argument_keys(event), *_requiring_grad(trace, event)))
    first = f"{name} is the highest key left and wins: {_reason_in_short(trace, event, winner)}."
    if kept_out := higher_keys_kept_out(trace, event):
        return Statement("key set: higher keys excluded", f"{first} {capital(kept_out)}.", _argument_keys(event))
    return Statement("key set: highest wins", first, _argument_keys(event))


def _why_empty(event: ev.KeySetComputed) -> str:
    """Where the keys of a call without any key left have gone."""
    excluded = event.with_included & ~event.without_excluded
    masked = event.without_excluded & ~event.effective
    carried = any(True for _ in functionalities(event.united))
    clauses = [
        "" if carried else f"no argument {'has a key' if event.arguments else 'is a tensor'}",
        f"the thread excludes {keys_text(excluded)}" if excluded else "",
        f"the operator's mask removes {keys_text(masked)}" if masked else "",
    ]
    return listed([clause for clause in clauses if clause])


def _argument_keys(event: ev.KeySetComputed) -> tuple[TensorKeys, ...]:
    """Which keys the arguments have."""
    return tuple(TensorKeys(tensor, keys) for _, tensor, keys in event.arguments)


def _requiring_grad(trace: Trace, event: ev.KeySetComputed) -> tuple[RequiresGrad, ...]:
    """Which of them require grad."""
    needed = index(trace).grad_needed
    if is_unseen(trace.header, ev.RequiresGradSet):
        return ()
    return tuple(RequiresGrad(tensor, needed(tensor, event.seq)) for _, tensor, _ in event.arguments)


def _reason_in_short(trace: Trace, event: ev.KeySetComputed, winner: DispatchKey) -> str:
    if not event.arguments and event.generator:
        device = highest(event.generator).name
        return f"no argument is a tensor, the generator has the key {device}, and {origin(trace, event, winner)}"
    if not event.arguments:
        return f"no argument is a tensor, so no argument has a key, and {origin(trace, event, winner)}"
    return origin(trace, event, winner)


def _skipped(trace: Trace, event: ev.FallthroughSkipped) -> Statement:
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "this operator"
    names = [name for name, _, _ in event.keys] or ["Nothing"]
    one = len(names) == 1
    too = " too" if call and call.key != DispatchKey.Undefined.name else ""
    return Statement(
        "fallthrough skipped",
        f"{listed(names)} {'was' if one else 'were'} in the set{too}, but {operator} has no kernel to run there: "
        f'{"its cell holds" if one else "their cells hold"} a fallthrough ("go on to the next key"), and the '
        f"operator's mask removes such keys. {_owners(event, operator)}",
        tuple(CellHolds(operator, key, FALLTHROUGH, reason) for key, reason, _ in event.keys),
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


def selected(event: ev.KernelSelected) -> Statement:
    """Which kernel the cell holds, and by which rule."""
    holds = (CellHolds(event.operator, event.key, event.kernel, event.reason),)
    if event.reason == "missing" or not event.kernel:
        text = f"{event.operator} has no kernel for {event.key}: its cell is empty, and calling it is an error."
        return Statement("cell is empty", text, (CellHolds(event.operator, event.key, "", "missing"),))
    begin = f"The {event.key} cell of {event.operator} holds {kernel_sentences.named(event.kernel)}, "
    return Statement("kernel in the cell", begin + _claim(event), holds)


def _claim(event: ev.KernelSelected) -> str:
    """Why that kernel is in the cell, as the end of a sentence and perhaps a second one."""
    nothing = f"Nothing is registered for {event.key} itself"
    alias = f"the kernel registered to the alias key {event.source}"
    match event.reason:
        case "kernel":
            return f"registered for {event.key} itself: such a kernel takes precedence over all others."
        case "autograd kernel":
            return (
                f"{alias}. {nothing}, so the alias filled this cell when the table was built, as it did for every "
                "autograd key without a kernel of higher precedence."
            )
        case "default backend kernel":
            most = "most " if event.source.endswith("NonFunctional") else ""
            return f"{alias}. {nothing}, and that alias covers {most}backends without a kernel of their own."
        case "math kernel":
            backend = event.key.removeprefix("Autograd")
            nor = f", nor for {backend}" if is_autograd(event.key) and is_backend(backend) else ""
            return (
                f"{alias}. {nothing}{nor}. It is written in terms of other operators, which have their own derivatives."
            )
        case "backend fallback":
            return (
                f"the fallback that {event.key} has for all operators: this one registers nothing that covers the key."
            )
        case "ambiguous autogradother":
            return "which raises an error: the cell could hold a composite kernel or a backend kernel."
        case _:
            return f"{alias}. {nothing}."


_EXTRACTOR = "aten/src/ATen/core/dispatch/DispatchKeyExtractor.h"


_REGISTRATIONS = "from the registrations of this build"


_BOXING = "every kernel is called on a stack here, so that nothing is told of others"


def _why_dispatched(trace: Trace, event: ev.Dispatched) -> Statements:
    return _redispatched(trace, event) if event.how.startswith("re") else _called(trace, event)


def _dispatched_rule(event: ev.Dispatched) -> Rule:
    if event.how.startswith("re"):
        text = "A redispatch uses the set it is given: no arguments, no thread state, no mask."
    else:
        text = "A call computes a key set; its highest key selects a cell of the operator's table."
    return Rule(text, *entry_point(event))


DISPATCH_KINDS = (
    Kind(
        ev.Dispatched,
        group="dispatch",
        label=lambda trace, event: f"{event.how} {event.operator} → {event.key}",
        why=_why_dispatched,
        rule=_dispatched_rule,
        known=Known(
            "observed",
            "a kernel in front of the cell's own is called, with the key set",
            {"how": ("derived", "from nesting: within a kernel of the same operator it is a redispatch")},
        ),
        level="calls",
        panes=("key set", "calls"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.KeySetComputed,
        group="dispatch",
        label=lambda trace, event: f"key set {own_hex(trace.header, event.effective)}",
        why=key_set,
        rule=Rule(
            "((keys of all tensor arguments | included) - excluded) & mask of the operator; the highest key is called.",
            "c10::impl::computeDispatchKeySet",
            _EXTRACTOR,
        ),
        known=Known(
            "observed",
            "the sets of the arguments and of the thread are read when the kernel is called",
            {"mask": ("derived", _REGISTRATIONS), "generator": ("unseen", "a generator's set is not read")},
        ),
        level="keys",
        panes=("key set", "calls"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.FallthroughSkipped,
        group="dispatch",
        label=lambda trace, event: shortened(f"skipped {', '.join(name for name, _, _ in event.keys)}", WIDTH),
        why=_skipped,
        rule=Rule(
            "An operator's mask has a zero for each key whose cell is a fallthrough, so no time is lost on it.",
            "c10::DispatchKeyExtractor::setOperatorHasFallthroughForKey",
            _EXTRACTOR,
        ),
        known=Known("derived", _REGISTRATIONS),
        level="keys",
        panes=("key set", "calls"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.KernelSelected,
        group="dispatch",
        label=_selected_label,
        why=lambda trace, event: selected(event),
        rule=Rule(
            "A cell takes the kernel of its own key, else of a composite alias, else of Autograd, else the key's "
            "fallback. That is settled when kernels are registered, not when the operator is called.",
            "c10::impl::OperatorEntry::computeDispatchTableEntryWithDebug",
            ENTRY,
        ),
        known=Known("derived", _REGISTRATIONS),
        level="keys",
        panes=("table cell", "key set"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.KernelEntered,
        group="dispatch",
        label=lambda trace, event: f"kernel {event.kernel}",
        why=kernel_sentences.entered,
        rule=lambda event: Rule(
            "A kernel may assume that its own key is the highest in the key set it receives.",
            event.kernel,
            kernel_file(event.kernel, event.pytorch_file),
        ),
        known=Known(
            "observed",
            "a kernel in front of the cell's own is called",
            {"kernel": ("derived", _REGISTRATIONS), "pytorch_file": ("derived", _REGISTRATIONS)},
        ),
        level="keys",
        panes=("source", "calls"),
    )
    | Kind(
        ev.KernelReturned,
        group="dispatch",
        label=_returned_label,
        why=kernel_sentences.returned,
        rule=Rule("Results are returned through the kernels that redispatched.", "", ""),
        known=Known("observed", "the kernel came back with these"),
        panes=("calls", "source"),
    )
    | Kind(
        ev.Boxed,
        group="dispatch",
        label=_boxed_label,
        why=lambda trace, event: (_boxed(trace, event), *_contents(trace, event)),
        rule=Rule(
            "Boxed code works on a stack of IValues; arguments are pushed left to right.",
            "c10::impl::boxArgs",
            "aten/src/ATen/core/boxing/impl/boxing.h",
        ),
        known=unseen(_BOXING),
    )
    | Kind(
        ev.Unboxed,
        group="dispatch",
        label=_unboxed_label,
        why=lambda trace, event: (_unboxed(event), *_contents(trace, event)),
        rule=Rule(
            "A boxed kernel pops its arguments and pushes its returns.",
            "",
            "aten/src/ATen/core/boxing/KernelFunction.h",
        ),
        known=unseen(_BOXING),
    )
    | Kind(
        ev.ResultHashed,
        group="dispatch",
        label=lambda trace, event: f"hash of {tensor_name(trace, event.tensor, event.seq)}: {event.hash}",
        why=kernel_sentences.hashed,
        rule=Rule("The same kernels on the same numbers give the same numbers, unless they draw random ones.", "", ""),
        known=unseen("no hashes are taken"),
    )
)
