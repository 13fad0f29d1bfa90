"""Calls: key sets, fallthroughs, table entries, boxing. The sentences of kernels are in ``kernel_sentences``."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.keys.key_set import highest, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.binding_frames import is_python
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.calls.key_reasons import argument_names, grad_note, higher_keys_kept_out, origin
from dispatchviz.explain.calls.redispatch_masks import mask_of
from dispatchviz.explain.calls.stack_text import stack_values
from dispatchviz.explain.cells.release_differences import entry_difference, operator_difference
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
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad, TensorKeys
from dispatchviz.explain.sentences.statement import LaterClaims, Statement, Statements
from dispatchviz.explain.sentences.table_claims import CellHolds, NamedSet
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around, caller, kernel_before, key_of_kernel
from dispatchviz.explain.trace_index.recorded_engine import is_live, is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital, counted, listed, shortened


def _selected_label(trace: Trace, event: ev.KernelSelected) -> str:
    cell = own_cell(trace.header, event.key, event.cell)
    return f"cell {cell} {event.key}: {event.kernel or 'empty'}"


def _returned_label(trace: Trace, event: ev.KernelReturned) -> str:
    if len(event.tensors) == 1:
        names = tensor_name(trace, event.tensors[0], event.seq)
    else:
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
        text = f"The results of {event.operator}, {values}, are pushed onto the caller's stack."
        return Statement("boxed results", text)
    return Statement(
        "boxed arguments",
        f"The arguments of {event.operator}, {values}, are pushed onto a stack, because the kernel is boxed: it takes "
        "a stack of IValues instead of the operator's own parameters.",
    )


def _unboxed(event: ev.Unboxed) -> Statement:
    values, are = counted(event.values, "value"), "is" if event.values == 1 else "are"
    text = f"{capital(values)} of {event.operator} {are} popped off the stack for code that takes typed arguments."
    return Statement("unboxed", text)


def _contents(trace: Trace, event: ev.Boxed | ev.Unboxed) -> Statements:
    values = stack_values(trace, event)
    if not values:
        return ()
    text = f"The IValue is {values[0]}." if len(values) == 1 else f"The IValues are {listed(values)}, deepest first."
    return (Statement("stack contents", text),)


def _converted_before(trace: Trace, event: ev.Boxed) -> bool:
    """Return whether the kernel has converted its arguments already, so that this conversion is of its results."""
    before = trace.children(event.parent) if event.parent is not None else ()
    return any(isinstance(other, ev.Unboxed) and other.seq < event.seq for other in before)


def _called(trace: Trace, event: ev.Dispatched) -> Statements:
    if event.how == "callBoxedForDispatchKey":
        return Statement(
            "call for a key",
            "The caller chose the kernel by its key, not by the highest key of a set. The key set that the kernel "
            f"receives is still computed from the arguments: {own_hex(trace.header, event.key_set)}, which includes "
            f"{event.key}.",
        )
    pick = Statement(
        "call: highest key", (f"{event.key} is the highest key in the call's key set, so it selects the kernel.")
    )
    if "Boxed" in event.how:
        return _caller_sentence(trace, event), pick, Statement("call: boxed", "The arguments are on a stack (boxed).")
    return _caller_sentence(trace, event), pick


def _objects(trace: Trace, event: ev.Dispatched) -> Statement:
    """The sentence on the arguments of a custom operator, which are looked at as Python objects."""
    kernel = next((each for each in trace.children(event.seq) if isinstance(each, ev.KernelEntered)), None)
    if isinstance(kernel, ev.KernelEntered) and is_python(kernel):
        text = (
            f"{kernel.kernel} is a Python function, so PyTorch passes it the Python objects without a stack. The "
            "profiler does not see this call."
        )
        return Statement("objects: passed", text)
    text = (
        f"The kernel of {event.key} is not a Python function, so PyTorch puts the arguments on a stack and goes on "
        "with c10::Dispatcher::redispatchBoxed."
    )
    return Statement("objects: boxed", text)


def _caller_sentence(trace: Trace, event: ev.Dispatched) -> Statement:
    operator = event.operator
    match caller(trace, event.seq):
        case ev.BindingEntered() as binding:
            return Statement("called by a binding", f"{call_text(trace, binding)} calls the operator {operator}.")
        case ev.KernelEntered() as kernel if passed := functorch_sentences.passed_on(trace, kernel, event):
            return Statement("called by functorch", passed)
        case ev.KernelEntered() as kernel:
            text = f"{kernel.kernel} calls {operator}. This is a full dispatch, which computes its own key set."
            return Statement("called by a kernel", text)
        case ev.MetaEntered() | ev.ImplEntered() as part:
            text = f"{part.function} calls {operator}. This is a full dispatch, which computes its own key set."
            return Statement("called by a structured kernel", text)
        case ev.ForwardFormulaEntered():
            return Statement("called by a forward formula", f"The forward formula calls the operator {operator}.")
        case ev.NodeStarted() as node:
            title = node_title(trace, node.node, event.seq)
            text = f"{title} calls {operator} to compute the gradient. This is an ordinary call with a full dispatch."
            return Statement("called by a Node", text)
        case ev.BackwardStarted():
            return Statement("called by the engine", f"The engine calls the operator {operator}.")
        case ev.SourceLine() as line if operator == "aten::ones_like" and event.parent != line.seq:
            return Statement(
                "called for the first gradient",
                "backward() was called without a gradient, so it starts with a tensor of ones from aten::ones_like.",
            )
        case _ if _may_be_inner(trace):
            text = f"{operator} is called. Its caller is outside the part that was recorded."
            return Statement("called from outside the part", text)
        case _ as outer:
            return Statement("called by the program", f"{_caller_of(trace, outer)} calls the operator {operator}.")


def _may_be_inner(trace: Trace) -> bool:
    """Return whether the caller of an outermost call may be another call or a Node, outside the recorded part."""
    return is_live(trace.header) and any(one.startswith(("op=", "call=")) for one in trace.header.only)


def _caller_of(trace: Trace, outer: ev.AnyEvent | None) -> str:
    """The Python code that calls an operator without a binding."""
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
        text = f"{event.operator} is called with a given key set, {given}, so {event.key} is next."
        return Statement("redispatch: given set", text)
    if key_of_kernel(trace, kernel) == "BackendSelect":
        return _backend_selected(trace, event)
    mask = mask_of(trace, event)
    masks = f"masks it with {mask.name}, which keeps {mask.keeps}. That leaves" if mask else "passes on"
    return Statement(
        "redispatch",
        f"{kernel.kernel} redispatches. It received {own_shown(trace.header, kernel.key_set)} and {masks} {given}, so "
        f"{event.key} is next.",
        (NamedSet(mask.name, mask.raw),) if mask else (),
    )


def _backend_selected(trace: Trace, event: ev.Dispatched) -> Statement:
    computed, given = arguments(trace, event.seq), own_shown(trace.header, event.key_set)
    if computed is not None and computed.arguments:
        return Statement(
            "redispatch: BackendSelect with tensors",
            f"The BackendSelect kernel of {event.operator} adds the key of the requested device to the keys of the "
            f"tensors. It redispatches with that set, {given}, so {event.key} is next.",
        )
    return Statement(
        "redispatch: BackendSelect",
        f"The BackendSelect kernel of {event.operator} makes the key set of the requested device. It redispatches "
        f"with that set, {given}, so {event.key} is next.",
    )


def key_set(trace: Trace, event: ev.KeySetComputed) -> Statement:
    """The key that wins a call, and the reason."""
    winner = next(functionalities(event.effective), None)
    if winner is None:
        return Statement(
            "key set: empty", f"No key is left, so Undefined wins: {_why_empty(event)}.", _argument_keys(event)
        )
    if is_autograd(highest(event.effective).name):
        claims = LaterClaims(lambda: (*_argument_keys(event), *_requiring_grad(trace, event)))
        return Statement("key set: autograd wins", _autograd_wins(trace, event, winner), claims)
    wins = _wins(trace, event, winner)
    if kept_out := higher_keys_kept_out(trace, event):
        return Statement("key set: higher keys excluded", f"{wins} {kept_out}.", _argument_keys(event))
    return Statement("key set: highest wins", wins, _argument_keys(event))


def _wins(trace: Trace, event: ev.KeySetComputed, winner: DispatchKey) -> str:
    reason = capital(_reason_in_short(trace, event, winner), argument_names(trace, event))
    return f"{highest(event.effective).name} is the highest key left, so it wins. {reason}."


def _autograd_wins(trace: Trace, event: ev.KeySetComputed, winner: DispatchKey) -> str:
    """The text for a key set from which autograd wins. It is kept, because every iteration of a loop has it again."""
    known = index(trace)
    if event.included & raw(winner):  # then it names a guard
        return f"{_wins(trace, event, winner)} {grad_note(trace, event)}".rstrip()
    tensors = [tensor for _, tensor, _ in event.arguments]
    names = tuple([tensor_name(trace, tensor, event.seq) for tensor in tensors])
    needed = tuple([known.grad_needed(tensor, event.seq) for tensor in tensors])
    same, keys = tuple(map(tensors.index, tensors)), tuple([ks for _, _, ks in event.arguments])
    depends_on = names, needed, same, keys, event.effective, event.with_included, event.generator
    if (text := known.key_set_texts.get(depends_on)) is None:
        text = f"{_wins(trace, event, winner)} {grad_note(trace, event)}".rstrip()
        known.key_set_texts[depends_on] = text
    return text


def _why_empty(event: ev.KeySetComputed) -> str:
    """The reason why no key of a call is left."""
    excluded = event.with_included & ~event.without_excluded
    masked = event.without_excluded & ~event.effective
    carried = any(True for _ in functionalities(event.united))
    clauses = [
        "" if carried else f"no argument {'has a key' if event.arguments else 'is a tensor'}",
        f"the thread-local exclude set removes {keys_text(excluded)}" if excluded else "",
        f"the operator's mask removes {keys_text(masked)}" if masked else "",
    ]
    return listed([clause for clause in clauses if clause])


def _argument_keys(event: ev.KeySetComputed) -> tuple[TensorKeys, ...]:
    """The claims about the keys of the arguments."""
    return tuple(TensorKeys(tensor, keys) for _, tensor, keys in event.arguments)


def _requiring_grad(trace: Trace, event: ev.KeySetComputed) -> tuple[RequiresGrad, ...]:
    """The claims about the arguments that require grad; none if the recording does not see the flag."""
    needed = index(trace).grad_needed
    if is_unseen(trace.header, ev.RequiresGradSet):
        return ()
    return tuple(RequiresGrad(tensor, needed(tensor, event.seq)) for _, tensor, _ in event.arguments)


def _reason_in_short(trace: Trace, event: ev.KeySetComputed, winner: DispatchKey) -> str:
    if not event.arguments and event.generator:
        device = highest(event.generator).name
        return f"no argument is a tensor, the generator has the key {device}, and {origin(trace, event, winner)}"
    if not event.arguments:
        return f"no argument is a tensor, and {origin(trace, event, winner)}"
    return origin(trace, event, winner)


def _skipped(trace: Trace, event: ev.FallthroughSkipped) -> Statement:
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "this operator"
    names = [name for name, _, _ in event.keys] or ["Nothing"]
    one = len(names) == 1
    too = " too" if call and call.key != DispatchKey.Undefined.name else ""
    return Statement(
        "fallthrough skipped",
        f"{listed(names)} {'was' if one else 'were'} in the key set{too}, but {operator} has only "
        f'{"a fallthrough" if one else "fallthroughs"} there ("go on to the next key"), so the operator\'s mask '
        f"removes {'it' if one else 'them'}. {_owners(event, operator)}",
        tuple(CellHolds(operator, key, FALLTHROUGH, reason) for key, reason, _ in event.keys),
    )


def _owners(event: ev.FallthroughSkipped, operator: str) -> str:
    """Name the owner of each fallthrough: the operator, or the fallback of the key."""
    fallbacks = [(name, where) for name, reason, where in event.keys if reason == "backend fallback"]
    own = [(name, where) for name, reason, where in event.keys if reason != "backend fallback"]
    parts = []
    if fallbacks:
        files = ", ".join(debug_file(where) for _, where in fallbacks)
        of = listed([name for name, _ in fallbacks])
        is_for_all = (
            f"The fallthrough of {of} is the key's fallback, which serves"
            if len(fallbacks) == 1
            else f"The fallthroughs of {of} are the keys' fallbacks, which serve"
        )
        parts.append(f"{is_for_all} every operator without a kernel of its own there ({files}).")
    if own:
        files = ", ".join(dict.fromkeys(debug_file(where) for _, where in own))
        of = listed([name for name, _ in own])
        is_own = f"The fallthrough of {of} is" if len(own) == 1 else f"The fallthroughs of {of} are"
        parts.append(f"{is_own} registered for {operator} itself ({files}).")
    return " ".join(parts)


def selected(event: ev.KernelSelected) -> Statement:
    """The kernel in a dispatch table entry, and the rule that put it there."""
    holds = (CellHolds(event.operator, event.key, event.kernel, event.reason),)
    if event.reason == "missing" or not event.kernel:
        text = (
            f"{event.operator} has no kernel for {event.key}: its dispatch table entry is empty, so the call raises an "
            "error."
        )
        return Statement("cell is empty", text, (CellHolds(event.operator, event.key, "", "missing"),))
    begin = f"The dispatch table of {event.operator} holds {kernel_sentences.named(event.kernel)} for {event.key}."
    return Statement("kernel in the cell", f"{begin} {_claim(event)}", holds)


def _claim(event: ev.KernelSelected) -> str:
    """Return the sentences that say why the entry holds this kernel."""
    nothing = f"Nothing is registered for {event.key} itself"
    alias = f"It is registered for the alias key {event.source}"
    match event.reason:
        case "kernel":
            return f"It is registered for {event.key} itself, and a key's own kernel takes precedence over all others."
        case "autograd kernel":
            return (
                f"{alias}. {nothing}, so the alias fills this entry, as it does for every autograd key without a "
                "kernel of higher precedence."
            )
        case "default backend kernel":
            most = "most " if event.source.endswith("NonFunctional") else ""
            return f"{alias}, which covers {most}backends without a kernel of their own. {nothing}."
        case "math kernel":
            backend = event.key.removeprefix("Autograd")
            nor = f", nor for {backend}" if is_autograd(event.key) and is_backend(backend) else ""
            return (
                f"{alias}. {nothing}{nor}. The kernel is written in terms of other operators, which have their own "
                "derivatives."
            )
        case "backend fallback":
            return f"It is the fallback of {event.key}, because this operator registers nothing that covers the key."
        case "ambiguous autogradother":
            return "It raises an error, because both a composite kernel and a backend kernel could fill this entry."
        case _:
            return f"{alias}. {nothing}."


_EXTRACTOR = "aten/src/ATen/core/dispatch/DispatchKeyExtractor.h"


_REGISTRATIONS = "from the registrations of this build"


_BOXING = "the recorder calls every kernel through a stack, so an unboxed call cannot be seen"


def _selected_elsewhere(trace: Trace, event: ev.KernelSelected) -> Iterator[Statement]:
    """Yield the sentence on the entry in PyTorch 2.14, if another release was recorded and fills it differently."""
    return entry_difference(trace.header, event.operator, event.key, event.registered)


def _skipped_elsewhere(trace: Trace, event: ev.FallthroughSkipped) -> Iterator[Statement]:
    call = around(trace, event.seq, ev.Dispatched)
    if call is not None:
        for key, _, registered in event.keys:
            yield from entry_difference(trace.header, call.operator, key, registered)


def _why_dispatched(trace: Trace, event: ev.Dispatched) -> Statements:
    why = _redispatched(trace, event) if event.is_redispatch else _called(trace, event)
    objects = (_objects(trace, event),) if event.passes_objects else ()
    return (
        *((why,) if isinstance(why, Statement) else why),
        *objects,
        *operator_difference(trace.header, event.operator),
    )


def _dispatched_rule(event: ev.Dispatched) -> Rule:
    if event.is_redispatch:
        text = (
            "A redispatch uses the key set that it is given. It ignores the arguments, the thread-local sets and the "
            "operator's mask."
        )
    else:
        text = "A call computes a key set, and its highest key selects an entry of the operator's dispatch table."
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
            "a kernel in front of the entry's own kernel is called with the key set",
            {"how": ("derived", "from nesting: a call within a kernel of the same operator is a redispatch")},
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
            "The key set is ((keys of all tensor arguments | included) - excluded) & the operator's mask. Its highest "
            "key wins.",
            "c10::impl::computeDispatchKeySet",
            _EXTRACTOR,
        ),
        known=Known(
            "observed",
            "the key sets of the arguments and of the thread are read when the kernel is called",
            {"mask": ("derived", _REGISTRATIONS), "generator": ("unseen", "the key set of a generator is not read")},
        ),
        level="keys",
        panes=("key set", "calls"),
        reason_in_log="own calls",
    )
    | Kind(
        ev.FallthroughSkipped,
        group="dispatch",
        label=lambda trace, event: shortened(f"skipped {', '.join(name for name, _, _ in event.keys)}", WIDTH),
        why=lambda trace, event: (_skipped(trace, event), *_skipped_elsewhere(trace, event)),
        rule=Rule(
            "An operator's mask has a zero for each key whose entry is a fallthrough, so a call spends no time on "
            "that key.",
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
        why=lambda trace, event: (selected(event), *_selected_elsewhere(trace, event)),
        rule=Rule(
            "An entry takes the kernel of its own key, else of a composite alias, else of Autograd, else the key's "
            "fallback. This is decided when kernels are registered, not when the operator is called.",
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
            "a kernel in front of the entry's own kernel is called",
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
        rule=Rule("A result returns through the kernels that redispatched.", "", ""),
        known=Known("observed", "the kernel returned these values"),
        panes=("calls", "source"),
    )
    | Kind(
        ev.Boxed,
        group="dispatch",
        label=_boxed_label,
        why=lambda trace, event: (_boxed(trace, event), *_contents(trace, event)),
        rule=Rule(
            "Boxed code works on a stack of IValues. Arguments are pushed from left to right.",
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
        known=Known("observed", "memory is read when a kernel returns"),
    )
)
