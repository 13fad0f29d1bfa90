"""The steps that each form of a stop's name may mean, in order."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.errors import DispatchvizError

Steps = Iterator[int]


class Find(Protocol):
    """A function that yields the steps that a name may mean, in order."""

    def __call__(self, trace: Trace, name: re.Match[str], /) -> Steps: ...


class UnknownStopError(DispatchvizError):
    """A name that means no step of the trace."""


class NoStepError(UnknownStopError):
    """The name of a stop that does not happen."""


class UnseenStopError(NoStepError):
    """The name of a stop that a recording of an installed PyTorch cannot show."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


def calls(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, again=False)


def redispatches(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, again=True)


def _dispatches(trace: Trace, name: re.Match[str], again: bool) -> Steps:
    """Yield the calls or redispatches of an operator, boxed ones included; only those of the key if one is given."""
    for step in trace.steps_of(ev.Dispatched):
        event = trace[step]
        if isinstance(event, ev.Dispatched) and event.is_redispatch == again and _is_meant(event, name):
            yield step


def _is_meant(call: ev.Dispatched, name: re.Match[str]) -> bool:
    return _is_operator(call.operator, name["op"]) and name["key"] in (None, call.key)


def _is_operator(operator: str, name: str) -> bool:
    """Return whether a name means an operator: ``add``, ``add.Tensor``, ``torch.add``, ``aten::add``. A name without an
    overload means any.
    """
    wanted = name.removeprefix("torch.").removeprefix("ops.")
    return wanted in (operator, operator.partition(".")[0], *_without_namespace(operator))


def _without_namespace(operator: str) -> tuple[str, str]:
    plain = operator.rpartition("::")[2]
    return plain, plain.partition(".")[0]


def of_call(kind: type[ev.Event]) -> Find:
    """Return a function that finds the steps of a kind within an operator's calls: key set, skipped keys, dispatch
    table entry.
    """

    def found(trace: Trace, name: re.Match[str]) -> Steps:
        for step in trace.steps_of(kind):
            call = next((each for each in trace.ancestors(step) if isinstance(each, ev.Dispatched)), None)
            if call is not None and _is_meant(call, name):
                yield step

    return found


class Named(NamedTuple):
    """The steps of a kind whose event has the name in a field. The namespace of a Node may be left out."""

    kind: type[ev.Event]
    field: str

    def __call__(self, trace: Trace, name: re.Match[str]) -> Steps:
        for step in trace.steps_of(self.kind):
            has = self.name_at(trace, step)
            if name["name"] in (has, plain_node(has)):
                yield step

    def name_at(self, trace: Trace, step: int) -> str:
        """Return the name in an event of the kind."""
        return str(getattr(trace[step], self.field))


def nodes_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the creation of each Node that is the ``grad_fn`` of a variable with this name."""
    known = index(trace)
    nodes = (known.history(tensor, step) for step, tensor in known.holders.get(name["var"], ()))
    for node in dict.fromkeys(nodes):
        if node is not None and (made := known.nodes.get(node)) is not None:
            yield made.seq


def accumulators_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where the AccumulateGrad of a leaf is created."""
    for step in trace.steps_of(ev.AccumulatorMade):
        event = trace[step]
        if isinstance(event, ev.AccumulatorMade) and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def gradients_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where ``.grad`` gets a gradient: that of a leaf, or of a tensor with ``retain_grad``."""
    for step in sorted((*trace.steps_of(ev.GradientAccumulated), *trace.steps_of(ev.GradSet))):
        event = trace[step]
        if isinstance(event, ev.GradSet) and not event.retained:
            continue
        if isinstance(event, ev.GradSet | ev.GradientAccumulated) and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def gradients_deleted(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where ``.grad`` becomes None, as in ``x.grad = None`` and ``zero_grad()``."""
    for step in trace.steps_of(ev.GradSet):
        event = trace[step]
        if isinstance(event, ev.GradSet) and event.result is None and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def printed(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where the program prints a text that contains a part."""
    for step in trace.steps_of(ev.Printed):
        event = trace[step]
        if isinstance(event, ev.Printed) and (name["written"] or "") in event.text:
            yield step


def errors(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where an error is raised or leaves the program: any, one of a class, or one whose message
    contains a text.
    """
    for step in sorted((*trace.steps_of(ev.ErrorRaised), *trace.steps_of(ev.ProgramRaised))):
        event = trace[step]
        if not isinstance(event, ev.ErrorRaised | ev.ProgramRaised):
            continue
        if name["exception"] in (None, event.exception) and (name["said"] or "") in event.message:
            yield step


def _is_named(trace: Trace, tensor: int, at: int, variable: str) -> bool:
    known = index(trace)
    return variable in (known.name(tensor, at), known.coming_name(tensor, at))


def of_line(trace: Trace, name: re.Match[str]) -> Steps:
    return (step for step in trace.steps_of(ev.SourceLine) if _is_line(trace, step, name["text"]))


def _is_line(trace: Trace, step: int, text: str) -> bool:
    event = trace[step]
    return isinstance(event, ev.SourceLine) and not event.resumed and text in source_text(trace, event)


def of_kind(trace: Trace, name: re.Match[str]) -> Steps:
    kinds = {kind.__name__: kind for kind in ev.KINDS}
    if name["kind"] not in kinds:
        near = difflib.get_close_matches(name["kind"], kinds, 3)
        raise UnknownStopError(
            f"there is no event {name['kind']}{'; did you mean ' if near else ''}{' or '.join(near)}{'?' * bool(near)}"
        )
    return iter(trace.steps_of(kinds[name["kind"]]))
