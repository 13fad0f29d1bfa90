"""Questions about a tensor: its maker, savers, changes, uses and shared memory. Also the questions about any thing.

Answers are about the whole recording. Names in them are those of the step at which the question is asked. All answers
but the uses (``uses.py``) are found through the trace's columns. Facts without an event are not answered: when memory
was freed, and which owners hold a tensor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.answer import MOST, Answer, Question, nearest
from dispatchviz.explain.things.calls_around import maker, plain
from dispatchviz.explain.things.made_by import by, without_call
from dispatchviz.explain.things.node_questions import node_questions
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.things.uses import Uses, uses
from dispatchviz.explain.trace_index.display_names import attribute, described, grad_name, node_title, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.tensor_card import storage_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MOST_MATES = 64
"""The number of tensors on the same memory, those that appeared first, that are searched for writes."""


def tensor_questions(trace: Trace, tensor: int, at: int, uses: Uses) -> list[Question]:
    """Return all questions, in the order in which they are shown. Calls that ``uses`` has not read yet are not in the
    answers.
    """
    return [
        _made(trace, tensor, at),
        _changed(trace, tensor, at),
        _saved(trace, tensor, at),
        _used(trace, tensor, at, uses),
        _shares(trace, tensor, at),
        _ends(trace, tensor, at, uses),
    ]


def _made(trace: Trace, tensor: int, at: int) -> Question:
    return Question("Who made it?", tuple(_origins(trace, tensor, at)))


def _origins(trace: Trace, tensor: int, at: int) -> Iterator[Answer]:
    known = index(trace)
    made = known.tensors.get(tensor)
    if made is None:
        return
    if made.how == "new":
        call = maker(trace, made.seq, tensor)
        who = without_call(trace, made.seq) if call is None else plain(call)
        yield Answer(f"made by {who}" if who else "made", made.seq)
    else:
        yield Answer("made before the recording began; first used", made.seq)
    if (view := known.views.get(tensor)) is not None:
        yield Answer(f"a view of {tensor_name(trace, view.base, at)}", view.seq, TensorThing(view.base))
    for step in known.steps_about(tensor, ev.RequiresGradSet)[-1:]:
        event = trace[step]
        grad = isinstance(event, ev.RequiresGradSet) and event.requires_grad
        yield Answer("requires grad after this step" if grad else "does not require grad after this step", step)
    for step in nearest(known.steps_about(tensor, ev.HistorySet, ev.HistoryRebased), at):
        node = trace.columns.nodes[step]
        yield Answer(f"its grad_fn is {node_title(trace, node, at)}", step, NodeThing(node))
    for step in known.steps_about(tensor, ev.AccumulatorMade)[-1:]:
        node = trace.columns.nodes[step]
        yield Answer(f"a leaf; {node_title(trace, node, at)} writes its .grad", step, NodeThing(node))


# -- changes -------------------------------------------------------------------------------------------------------


def _changed(trace: Trace, tensor: int, at: int) -> Question:
    made = index(trace).tensors.get(tensor)
    steps = changes(trace, tensor)
    if made is not None and not made.key_set & raw(DispatchKey.ADInplaceOrView) and not steps:
        none = "it has no version counter, so in-place writes are not counted"
    else:
        unknown = is_unseen(trace.header, ev.VersionBumped)
        none = "in-place writes appear only as calls" if unknown else "no in-place write was recorded"
    shown = nearest(steps, at)
    answers = (answer for step in shown if (answer := _change(trace, tensor, step, at)) is not None)
    return Question("Who changed it?", tuple(answers), len(steps) - len(shown), none)


def changes(trace: Trace, tensor: int) -> list[int]:
    """Return the steps at which the version of a tensor, or of another one on its memory, was bumped, in order."""
    known = index(trace)
    found = (known.steps_about(each, ev.VersionBumped) for each in (tensor, *mates(trace, tensor)[:MOST_MATES]))
    gradients = known.steps_about(tensor, ev.GradientAccumulated)
    return sorted((*(step for steps in found for step in steps), *gradients))


def _change(trace: Trace, tensor: int, step: int, at: int) -> Answer | None:
    event = trace[step]
    if isinstance(event, ev.GradientAccumulated):
        name, gradient = grad_name(trace, tensor, at), tensor_name(trace, event.gradient, at)
        return Answer(f"{name} is written: {gradient} {event.how}", step, TensorThing(event.result))
    if not isinstance(event, ev.VersionBumped):
        return None
    call = by(trace, step)
    change = f"{f'by {call}, ' if call else ''}version {event.before} → {event.after}"
    if event.tensor == tensor:
        return Answer(f"changed in place {change}", step)
    other = tensor_name(trace, event.tensor, at)
    return Answer(f"{other}, which shares its memory, changed in place {change}", step, TensorThing(event.tensor))


def mates(trace: Trace, tensor: int) -> list[int]:
    """Return the other tensors that were made on the same storage as a tensor, in order."""
    made = index(trace).tensors.get(tensor)
    storage = -1 if made is None else made.storage
    return [trace.columns.tensors[step] for step in _came(trace, tensor, storage, ev.TensorCreated)]


def _came(trace: Trace, tensor: int, storage: int, *kinds: type[ev.Event]) -> list[int]:
    """Return the steps at which other tensors came onto a storage. No event is decoded."""
    if storage < 0:
        return []
    tensors, first = trace.columns.tensors, dict[int, int]()
    for step in index(trace).about_storage(storage, *kinds):
        first.setdefault(tensors[step], step)
    return [step for other, step in first.items() if other != tensor]


# -- holders -------------------------------------------------------------------------------------------------------


def _saved(trace: Trace, tensor: int, at: int) -> Question:
    steps = index(trace).steps_about(tensor, ev.VariableSaved)
    shown = nearest(steps, at)
    answers = (_save(trace, event, at) for step in shown if isinstance(event := trace[step], ev.VariableSaved))
    return Question("Who saved it for backward?", tuple(answers), len(steps) - len(shown), "no Node saved it")


def _save(trace: Trace, event: ev.VariableSaved, at: int) -> Answer:
    packed = ", packed by a hook" if event.packed else f" (version {event.version})"
    text = f"saved by {node_title(trace, event.node, at)} as {event.name}{packed}"
    return Answer(text, event.seq, NodeThing(event.node))


def _used(trace: Trace, tensor: int, at: int, uses: Uses) -> Question:
    calls = used_by(trace, tensor, uses)
    shown = nearest(calls, at)
    answers = [Answer(_use(uses, call, tensor), call) for call in shown]
    gradients = index(trace).steps_about(tensor, ev.GradientBuffered, ev.GradientCaptured)
    answers += [_gradient(trace, step, at) for step in nearest(gradients, at)]
    more = len(calls) - len(shown) + max(len(gradients) - MOST, 0)
    none = "no call used it" if uses.complete else f"looking through the calls: {uses.percent} %"
    return Question("Who uses it?", tuple(sorted(answers, key=_step)), more, none)


def used_by(trace: Trace, tensor: int, uses: Uses) -> list[int]:
    """Return the calls that got a tensor after it was made. The calls that made it do not count as uses."""
    made = index(trace).tensors.get(tensor)
    call = None if made is None or made.how != "new" else maker(trace, made.seq, tensor)
    return uses.calls(tensor, -1 if call is None else trace.ends[call.seq])


def _use(uses: Uses, call: int, tensor: int) -> str:
    use = uses.use(call, tensor)
    return "" if use is None else f"{listed(use.parameters)} of {use.operator.removeprefix('aten::')}"


def _gradient(trace: Trace, step: int, at: int) -> Answer:
    event = trace[step]
    if isinstance(event, ev.GradientCaptured):
        return Answer(f"gradient number {event.position} that grad() returns", step, NodeThing(event.node))
    node = trace.columns.nodes[step]
    return Answer(f"gradient that goes to {node_title(trace, node, at)}", step, NodeThing(node))


def _shares(trace: Trace, tensor: int, at: int) -> Question:
    made = index(trace).tensors.get(tensor)
    storage = -1 if made is None else storage_of(trace, made, at)
    came = _came(trace, tensor, storage, ev.TensorCreated, ev.GeometryChanged)
    shown = nearest(came, at)
    none = "it has no memory of its own" if storage < 0 else "no other tensor uses it"
    return Question(
        "Who shares its memory?", tuple(_share(trace, step, at) for step in shown), len(came) - len(shown), none
    )


def _share(trace: Trace, step: int, at: int) -> Answer:
    other = trace.columns.tensors[step]
    name = tensor_name(trace, other, at)
    if isinstance(trace[step], ev.TensorCreated):
        how = "began to share its memory"
    else:
        how = f"took it by {by(trace, step) or attribute(name, 'data = ...')}"
    return Answer(f"{name} {how}", step, TensorThing(other))


# -- end of a tensor -----------------------------------------------------------------------------------------------


def _ends(trace: Trace, tensor: int, at: int, uses: Uses) -> Question:
    """Return the question of a tensor's end: lost names, freed saved tensors, the last call that gets it."""
    answers = [*_names_lost(trace, tensor), *_freed(trace, tensor, at)]
    if calls := used_by(trace, tensor, uses)[-1:] if uses.complete else []:
        answers.append(Answer(f"last used as {_use(uses, calls[0], tensor)}", calls[0]))
    none = "it keeps its name to the end" if index(trace).names.get(tensor) else "no variable ever named it"
    return Question("Where does it end?", tuple(sorted(answers, key=_step)[-MOST:]), 0, none)


def _names_lost(trace: Trace, tensor: int) -> Iterator[Answer]:
    for name, until in lost_names(trace, tensor):
        other = isinstance(trace[until], ev.NameBound)
        change = "names another tensor after this step" if other else "no longer names it"
        yield Answer(f"{index(trace).shown(name)} {change}", until)


def lost_names(trace: Trace, tensor: int) -> Iterator[tuple[str, int]]:
    """Yield each time that a variable ceased to name a tensor: its name, and the step."""
    columns, numbers = trace.columns, trace.columns.names
    for bound in index(trace).steps_about(tensor, ev.NameBound):
        steps = columns.of_name.get(numbers[bound], ())
        for step in steps[bisect_right(steps, bound) :]:
            is_binding = columns.kinds[step] == columns.code(ev.NameBound)
            if is_binding and columns.tensors[step] == tensor:
                break  # that event reports it
            if is_binding or (columns.tensors[step] == tensor and isinstance(trace[step], ev.NameUnbound)):
                yield columns.name_texts[numbers[bound]], step
                break


def _freed(trace: Trace, tensor: int, at: int) -> Iterator[Answer]:
    """Yield the releases by Nodes that saved the tensor."""
    columns = trace.columns
    code = columns.code(ev.VariablesReleased)
    for saved in nearest(index(trace).steps_about(tensor, ev.VariableSaved), at):
        node = columns.nodes[saved]
        of_node = columns.of_node.get(node, ())
        later: Sequence[int] = of_node[bisect_right(of_node, saved) :]
        released = next((step for step in later if columns.kinds[step] == code), None)
        if released is not None:
            yield Answer(f"{node_title(trace, node, at)} frees what it saved", released, NodeThing(node))


def _step(answer: Answer) -> int:
    return -1 if answer.seq is None else answer.seq


def questions(trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Question]:
    """Return all questions about a thing, with names as of a step."""
    if isinstance(thing, NodeThing):
        return node_questions(trace, thing.number, at)
    return tensor_questions(trace, thing.number, at, uses(trace))


def title(trace: Trace, thing: TensorThing | NodeThing, at: int) -> str:
    """Return the title of a thing: ``z (t4)``, ``MulBackward0``."""
    named = node_title if isinstance(thing, NodeThing) else tensor_name
    return named(trace, thing.number, at)


def description(trace: Trace, thing: TensorThing | NodeThing, at: int) -> str:
    """Return shape, dtype and device of a tensor, such as ``[2, 2] float32 on cuda:0``; empty for a Node. A tensor that
    does not exist yet is described as it will be made.
    """
    if isinstance(thing, NodeThing):
        return ""
    made = index(trace).tensors.get(thing.number)
    return described(trace, thing.number, max(at, made.seq if made else at))
