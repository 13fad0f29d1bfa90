"""The reason why two runs differ at a step, in a sentence or two, and in a few words.

``explain/sentences`` explains a single step. This module compares two steps. A run is named by its place: ``in
plain.py``, ``under no_grad``.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.calls.key_reasons import reasons
from dispatchviz.explain.comparison.number_sentences import why_numbers
from dispatchviz.explain.comparison.seen_by_both import SeenByBoth
from dispatchviz.explain.comparison.tree_alignment import Difference
from dispatchviz.explain.keys.key_names import recorded_key
from dispatchviz.explain.keys.key_text import is_autograd, keys_text
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.kinds.dispatch import selected
from dispatchviz.explain.trace_index.display_names import described, plain_node, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around, within
from dispatchviz.foundation.english import capital, listed


class Run(NamedTuple):
    """A run with its name."""

    trace: Trace
    where: str
    """The place, such as ``in plain.py`` or ``under no_grad``."""

    def number(self, step: int) -> int:
        """Return the number of a step in the whole run, which is the number that the stepper opens."""
        return self.trace.steps[step] if isinstance(self.trace, SeenByBoth) else step


class Said(NamedTuple):
    """The texts about a difference."""

    short: str
    """The short text, without a full stop."""
    text: str
    """The long text, in whole sentences."""


def said(first: Run, second: Run, found: Difference) -> Said:
    """Return the texts about a place where two runs differ."""
    if found.second is None:
        assert found.first is not None
        return _of_one(first, first.trace[found.first])
    if found.first is None:
        return _of_one(second, second.trace[found.second])
    return _of_two(first, second, found.first, found.second, found.below)


# -- a step that only one run has -------------------------------------------------------------------------------------


def _of_one(run: Run, event: ev.AnyEvent) -> Said:
    why = why_here(run.trace, event.seq)
    short = f"only {run.where}: {label(run.trace, event.seq)}"
    match event:
        case ev.SourceLine():
            text = f"the line runs here only {run.where}"
            return Said(text, f"{capital(text)}.")
        case ev.ErrorRaised() | ev.ProgramRaised():
            return Said(short, f"{capital(run.where)} an error is raised. {why}")
        case ev.NodeCreated():
            kernel = around(run.trace, event.seq, ev.KernelEntered)
            who = f"{kernel.kernel} records" if kernel is not None else "there is"
            return Said(short, f"Only {run.where} {who} {plain_node(event.name)}. {why}")
        case ev.Dispatched():
            return Said(short, f"Only {run.where} {event.operator} is called here. {why}")
        case ev.NodeStarted():
            return Said(short, f"Only {run.where} the engine runs {plain_node(event.name)}. {why}")
        case _:
            return Said(short, f"Only {run.where}: {why}")


# -- two steps --------------------------------------------------------------------------------------------------------


def _of_two(first: Run, second: Run, a: int, b: int, below: tuple[int, int] | None) -> Said:
    match first.trace[a], second.trace[b]:
        case ev.Dispatched() as one, ev.Dispatched() as other:
            if one.operator != other.operator:
                return _other_operator(first, second, one, other)
            return _other_key(first, second, one, other, below)
        case ev.KeySetComputed() as one, ev.KeySetComputed() as other:
            return _other_sets(first, second, one, other)
        case ev.KernelSelected() as one, ev.KernelSelected() as other:
            return _other_cell(first, second, one, other)
        case ev.BindingEntered() as one, ev.BindingEntered() as other:
            calls = call_text(first.trace, one), call_text(second.trace, other)
            return Said(_beside(first, second, *calls), f"Python calls {_beside(first, second, *calls)}.")
        case (ev.NodeCreated(), ev.NoNodeMade()) | (ev.NoNodeMade(), ev.NodeCreated()):
            return _node_or_none(first, second, a, b)
        case ev.NodeStarted() as one, ev.NodeStarted() as other if one.name != other.name:
            short = f"the engine runs {_beside(first, second, plain_node(one.name), plain_node(other.name))}"
            return Said(short, f"{capital(short)}.")
        case ev.TensorCreated() as one, ev.TensorCreated() as other:
            return _other_tensor(first, second, one, other)
        case ev.ResultHashed(), ev.ResultHashed():
            return Said("other numbers", why_numbers(first.trace, second.trace, a, b, first.where, second.where))
        case _:
            return _labels(first, second, a, b)


def _beside(first: Run, second: Run, one: str, other: str) -> str:
    return f"{one} {first.where}, {other} {second.where}"


def _labels(first: Run, second: Run, a: int, b: int) -> Said:
    """Return the labels of two steps in the list of steps, or their own sentences if only these differ."""
    short = _beside(first, second, label(first.trace, a), label(second.trace, b))
    one, other = why_here(first.trace, a), why_here(second.trace, b)
    if label(first.trace, a) == label(second.trace, b):
        return _fields(first, second, first.trace[a], second.trace[b])
    if one == other:
        return Said(short, f"{capital(short)}.")
    return Said(short, f"{capital(first.where)}: {one} {capital(second.where)}: {other}")


def _fields(first: Run, second: Run, one: ev.AnyEvent, other: ev.AnyEvent) -> Said:
    """Return the fields of the event that differ (``docs/lists/events.md``), for two steps with the same texts."""
    names = [name for name in one.__struct_fields__ if name not in ("seq", "parent")]
    pairs = [(name, getattr(one, name), getattr(other, name, None)) for name in names]
    apart = "; ".join(f"{name}: {_beside(first, second, str(a), str(b))}" for name, a, b in pairs if a != b)
    row = label(first.trace, one.seq)
    return Said(f"{row}, {apart}", f"{capital(row)}: the same step except for its {apart}.")


def _other_operator(first: Run, second: Run, one: ev.Dispatched, other: ev.Dispatched) -> Said:
    short = _beside(first, second, one.operator, other.operator)
    written = [_writes(run, event) for run, event in ((first, one), (second, other))]
    text = f"The operator called is {short}.{''.join(f' {sentence}' for sentence in written if sentence)}"
    return Said(f"calls {short}", text)


def _writes(run: Run, call: ev.Dispatched) -> str:
    """Return the effect of an in-place call on a version counter."""
    trace = run.trace
    last = min(trace.ends[call.seq], call.seq + _FEW)
    bumped = next((event for event in trace[call.seq : last + 1] if isinstance(event, ev.VersionBumped)), None)
    if bumped is None:
        return ""
    name = tensor_name(trace, bumped.tensor, bumped.seq)
    return (
        f"{capital(run.where)} it writes to {name} in place: its version goes from {bumped.before} to {bumped.after}."
    )


_FEW = 500
"""The number of steps of a call that are read."""


def _node_or_none(first: Run, second: Run, a: int, b: int) -> Said:
    made, none, node, not_made = (first, second, a, b)
    if isinstance(first.trace[a], ev.NoNodeMade):
        made, none, node, not_made = second, first, b, a
    event, reason = made.trace[node], none.trace[not_made]
    assert isinstance(event, ev.NodeCreated)
    assert isinstance(reason, ev.NoNodeMade)
    name = plain_node(event.name)
    kernel = around(made.trace, node, ev.KernelEntered)
    who = f"{kernel.kernel} records" if kernel is not None else "there is"
    why = why_here(none.trace, not_made)
    text = f"{capital(made.where)} {who} {name}. {capital(none.where)}, {_lowered(why)}"
    return Said(f"{name} {made.where}, no Node {none.where}: {reason.why}", text)


def _lowered(sentence: str) -> str:
    """Return a sentence as the end of another one: a plain word begins small, a name as it is."""
    word = sentence.partition(" ")[0]
    return sentence[:1].lower() + sentence[1:] if word in ("Grad", "None", "Neither", "No", "The") else sentence


def _other_tensor(first: Run, second: Run, one: ev.TensorCreated, other: ev.TensorCreated) -> Said:
    texts = [described(run.trace, made.tensor, made.seq) for run, made in ((first, one), (second, other))]
    if texts[0] == texts[1]:
        return _labels(first, second, one.seq, other.seq)
    short = _beside(first, second, *texts)
    return Said(f"a tensor {short}", f"The tensor made is {short}.")


def _other_cell(first: Run, second: Run, one: ev.KernelSelected, other: ev.KernelSelected) -> Said:
    short = _beside(first, second, one.kernel or "nothing", other.kernel or "nothing")
    if selected(one).text == selected(other).text:
        return _fields(first, second, one, other)
    texts = [f"{capital(run.where)}: {selected(cell).text}" for run, cell in ((first, one), (second, other))]
    return Said(f"the kernel of {one.operator} for {one.key} is {short}", " ".join(texts))


# -- key sets ---------------------------------------------------------------------------------------------------------


def _other_key(
    first: Run, second: Run, one: ev.Dispatched, other: ev.Dispatched, below: tuple[int, int] | None
) -> Said:
    short = f"{one.operator} goes to {_beside(first, second, one.key, other.key)}"
    parts = [f"{short}.", _why_keys(first, second, one, other)]
    if below is not None:
        parts.append(_below(first, second, one, other, below))
    return Said(short, " ".join(part for part in parts if part))


def _below(first: Run, second: Run, one: ev.Dispatched, other: ev.Dispatched, below: tuple[int, int]) -> str:
    """Return a sentence about a layer whose kernel calls the operator again, or redispatches."""
    in_second = below[0] == one.seq
    run, plain, outer, key = (second, first, other, one.key) if in_second else (first, second, one, other.key)
    chosen = within(run.trace, outer.seq, ev.KernelSelected)
    kernel = chosen.kernel if chosen is not None and chosen.kernel else "the kernel"
    where = f"step {run.number(below[1] if in_second else below[0])} {run.where}"
    return f"From {kernel} the call goes on ({where}) to {key}, as {plain.where}."


def _is_higher(one: str, other: str) -> bool:
    return raw(recorded_key(one)) >> BACKEND_BITS > raw(recorded_key(other)) >> BACKEND_BITS


BACKEND_BITS = 16
"""The number of backend bits, which are below the bits of functionalities. A higher backend bit runs first."""


def _why_keys(first: Run, second: Run, one: ev.Dispatched, other: ev.Dispatched) -> str:
    """Return the reason why the higher of two keys is in only one key set. For two keys of backends, the reason for
    each.
    """
    higher, lower = (one.key, other.key) if _is_higher(one.key, other.key) else (other.key, one.key)
    pairs = [(run, call, _reasons(run, call)) for run, call in ((first, one), (second, other))]
    ours, theirs = (found.get(higher, "") for _, _, found in pairs)
    shared, _, rest = ours.partition(". ")
    if rest and theirs.startswith(f"{shared}. "):
        others = theirs.removeprefix(f"{shared}. ")
        return f"{higher}: {shared}. {_where(first, rest)} {_where(second, others)}"
    return " ".join(_why_key(run, call, found, higher, lower) for run, call, found in pairs)


def _where(run: Run, sentence: str) -> str:
    """Return a sentence about one run: ``In A it is the highest key left, so it wins.``"""
    place = capital(run.where)
    return f"{place} it {sentence[3:]}" if sentence.startswith("It ") else f"{place}: {sentence}"


def _why_key(run: Run, call: ev.Dispatched, found: dict[str, str], higher: str, lower: str) -> str:
    """Return the reason for one of the runs."""
    if not found:
        return f"{capital(run.where)}: {why_here(run.trace, call.seq)}"
    if higher in found:
        return f"{higher} {run.where}: {found[higher]}"
    if is_autograd(higher) and is_autograd(lower) and lower in found:
        return f"{lower} {run.where}: {found[lower]}"
    return f"{capital(run.where)} neither an argument nor the thread adds {higher} to the key set."


def _reasons(run: Run, call: ev.Dispatched) -> dict[str, str]:
    """Return the reason why each relevant key of a call is in the set or not; empty for a redispatch."""
    computed = within(run.trace, call.seq, ev.KeySetComputed)
    return {} if computed is None else dict(reasons(run.trace, call, computed))


def _other_sets(first: Run, second: Run, one: ev.KeySetComputed, other: ev.KeySetComputed) -> Said:
    """Return the texts for calls with different key sets but the same highest key."""
    changed = []
    for (name, tensor, keys), (_, other_tensor, other_keys) in zip(one.arguments, other.arguments, strict=False):
        if keys != other_keys:
            names = tensor_name(first.trace, tensor, one.seq), tensor_name(second.trace, other_tensor, other.seq)
            who = names[0] if names[0] == names[1] else f"the argument {name}"
            changed.append(f"{who} has {_beside(first, second, *_keys_apart(keys, other_keys))}")
    for what in ("included", "excluded"):
        ours, theirs = getattr(one, what), getattr(other, what)
        if ours != theirs:
            apart = _beside(first, second, *_keys_apart(ours, theirs))
            changed.append(f"the thread's {what} set has {apart}")
    if len(one.arguments) != len(other.arguments):
        changed.append(f"the tensors among the arguments are {_beside(first, second, *_many(one, other))}")
    if not changed:
        given = _beside(first, second, _given(first, one), _given(second, other))
        return Said(f"the arguments are {given}", f"The arguments are {given}.")
    return Said("different key sets with the same highest key", f"{capital('; '.join(changed))}.")


def _given(run: Run, computed: ev.KeySetComputed) -> str:
    """``self = x and other = y``"""
    return listed(
        [f"{name} = {tensor_name(run.trace, tensor, computed.seq)}" for name, tensor, _ in computed.arguments]
    )


def _many(one: ev.KeySetComputed, other: ev.KeySetComputed) -> tuple[str, str]:
    return str(len(one.arguments)), str(len(other.arguments))


def _keys_apart(ours: int, theirs: int) -> tuple[str, str]:
    """Return the keys that are in only one of two key sets."""
    return keys_text(ours & ~theirs) or "nothing more", keys_text(theirs & ~ours) or "nothing more"
