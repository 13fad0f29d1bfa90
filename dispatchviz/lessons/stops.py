"""The names of stops: ``z's Node``, ``call add``, ``redispatch add to CUDA``, and the step of a trace that each means.

A name says what is meant, never a number, so it holds when the trace changes. Before it may stand which one of several
(``second call mul``), behind it where (``call mul in `y = x * x```): the line of the program with that text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted
from dispatchviz.foundation.errors import DispatchvizError

ORDINALS = ("first", "second", "third", "fourth", "fifth", "last")

_STOP = re.compile(
    rf"(?:(?P<which>{'|'.join(ORDINALS)})\s+)?(?P<thing>.*?)(?:\s+in\s+`(?P<line>[^`]+)`)?\s*", re.DOTALL
)

Steps = Iterator[int]


class Find(Protocol):
    """The steps that a form's name may mean, in order."""

    def __call__(self, trace: Trace, name: re.Match[str], /) -> Steps: ...


class UnknownStopError(DispatchvizError):
    """A name that means no step of the trace."""


class Form(NamedTuple):
    """A way to name a stop."""

    written: str
    """As documentation writes it."""
    means: str
    pattern: re.Pattern[str]
    steps: Find


def _calls(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, "call")


def _redispatches(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, "redispatch")


def _dispatches(trace: Trace, name: re.Match[str], how: str) -> Steps:
    """Calls or redispatches of an operator, boxed ones too; of a key if one is given."""
    for step in trace.steps_of(ev.Dispatched):
        event = trace[step]
        if isinstance(event, ev.Dispatched) and event.how.startswith(how) and _is_meant(event, name):
            yield step


def _is_meant(call: ev.Dispatched, name: re.Match[str]) -> bool:
    return _is_operator(call.operator, name["op"]) and name["key"] in (None, call.key)


def _is_operator(operator: str, name: str) -> bool:
    """``add``, ``add.Tensor``, ``torch.add``, ``aten::add``: with an overload that one, without it any."""
    wanted = name.removeprefix("torch.").removeprefix("ops.")
    return wanted in (operator, operator.partition(".")[0], *_without_namespace(operator))


def _without_namespace(operator: str) -> tuple[str, str]:
    plain = operator.rpartition("::")[2]
    return plain, plain.partition(".")[0]


def _of_call(kind: type[ev.Event]) -> Find:
    """The steps of a kind that belong to calls of an operator: its key set, what is skipped, its cell."""

    def found(trace: Trace, name: re.Match[str]) -> Steps:
        for step in trace.steps_of(kind):
            call = next((each for each in trace.ancestors(step) if isinstance(each, ev.Dispatched)), None)
            if call is not None and _is_meant(call, name):
                yield step

    return found


class _Named(NamedTuple):
    """The steps of a kind whose event has the name in a field; of a Node without its namespace, too."""

    kind: type[ev.Event]
    field: str

    def __call__(self, trace: Trace, name: re.Match[str]) -> Steps:
        for step in trace.steps_of(self.kind):
            has = self.name_at(trace, step)
            if name["name"] in (has, plain_node(has)):
                yield step

    def name_at(self, trace: Trace, step: int) -> str:
        """The name that an event of the kind has."""
        return str(getattr(trace[step], self.field))


def _any(*kinds: type[ev.Event]) -> Find:
    return lambda trace, name: iter(sorted(step for kind in kinds for step in trace.steps_of(kind)))


def _node_of(trace: Trace, name: re.Match[str]) -> Steps:
    """The Nodes that variables of a name have for ``grad_fn``, where they are made."""
    known = index(trace)
    nodes = (known.history(tensor, step) for step, tensor in known.holders.get(name["var"], ()))
    for node in dict.fromkeys(nodes):
        if node is not None and (made := known.nodes.get(node)) is not None:
            yield made.seq


def _accumulator_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Where the AccumulateGrad of a leaf is made."""
    for step in trace.steps_of(ev.AccumulatorMade):
        event = trace[step]
        if isinstance(event, ev.AccumulatorMade) and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def _gradient_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Where a leaf's ``.grad`` gets a gradient."""
    for step in trace.steps_of(ev.GradientAccumulated):
        event = trace[step]
        if isinstance(event, ev.GradientAccumulated) and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def _is_named(trace: Trace, tensor: int, at: int, variable: str) -> bool:
    known = index(trace)
    return variable in (known.name(tensor, at), known.coming_name(tensor, at))


def _of_line(trace: Trace, name: re.Match[str]) -> Steps:
    return (step for step in trace.steps_of(ev.SourceLine) if _is_line(trace, step, name["text"]))


def _is_line(trace: Trace, step: int, text: str) -> bool:
    event = trace[step]
    return isinstance(event, ev.SourceLine) and not event.resumed and text in source_text(trace, event)


def _of_kind(trace: Trace, name: re.Match[str]) -> Steps:
    kinds = {kind.__name__: kind for kind in ev.KINDS}
    if name["kind"] not in kinds:
        near = difflib.get_close_matches(name["kind"], kinds, 3)
        raise UnknownStopError(f"there is no event {name['kind']}{'; near: ' if near else ''}{', '.join(near)}")
    return iter(trace.steps_of(kinds[name["kind"]]))


OPERATOR, KEY, VARIABLE, NAME = r"(?P<op>[\w.:]+)", r"(?P<key>[A-Z]\w*)", r"(?P<var>\S+)", r"(?P<name>\S+)"
"""What stands in a name: ``add``, ``add.Tensor``, ``torch.add``, ``mine::twice``; a key; a variable; any other."""

AT_KEY, TO_KEY = rf"(?: at {KEY})?", rf"(?: to {KEY})?"


def _form(written: str, means: str, pattern: str, steps: Find) -> Form:
    return Form(written, means, re.compile(pattern), steps)


FORMS: tuple[Form, ...] = (
    _form("`z = x + y`", "the line of the program with this text", r"`(?P<text>[^`]+)`", _of_line),
    _form("z's Node", "where the grad_fn of z is made", f"{VARIABLE}'s Node", _node_of),
    _form("x's AccumulateGrad", "where it is made", f"{VARIABLE}'s AccumulateGrad", _accumulator_of),
    _form("x.grad", "where it gets a gradient", rf"{VARIABLE}\.grad", _gradient_of),
    _form("call add", "a call of the operator, `at KEY` one that this key won", f"call {OPERATOR}{AT_KEY}", _calls),
    _form("redispatch add to CUDA", "a redispatch of it", f"redispatch {OPERATOR}{TO_KEY}", _redispatches),
    _form("key set of add", "how its key set is made", f"key set of {OPERATOR}{AT_KEY}", _of_call(ev.KeySetComputed)),
    _form(
        "skipped keys of add",
        "its fallthrough keys",
        f"skipped keys of {OPERATOR}{AT_KEY}",
        _of_call(ev.FallthroughSkipped),
    ),
    _form("cell of add at CUDA", "what the cell holds", f"cell of {OPERATOR}{AT_KEY}", _of_call(ev.KernelSelected)),
    _form("kernel VariableType::add_Tensor", "where it runs", f"kernel {NAME}", _Named(ev.KernelEntered, "kernel")),
    _form("guard AutoDispatchBelowAutograd", "where it begins", f"guard {NAME}", _Named(ev.GuardEntered, "guard")),
    _form("Node MulBackward0", "where one is made", f"Node {NAME}", _Named(ev.NodeCreated, "name")),
    _form("run MulBackward0", "where the engine runs one", f"run {NAME}", _Named(ev.NodeStarted, "name")),
    _form("error", "where one is raised", "error", _any(ev.ErrorRaised, ev.ProgramRaised)),
    _form("event VersionBumped", "any kind of docs/events.md", r"event (?P<kind>\w+)", _of_kind),
)
"""The forms, in the order in which they are tried."""


def step_named(trace: Trace, name: str) -> int:
    """The step that a name means. UnknownStopError, which says what there is, if it means none."""
    stop = _STOP.fullmatch(name)
    form = None if stop is None else _read(stop["thing"])
    if stop is None or form is None:
        raise UnknownStopError(f"{name!r} names no stop; these do: {', '.join(each.written for each in FORMS)}")
    anywhere = list(form[0].steps(trace, form[1]))
    found = [step for step in anywhere if _is_in(trace, step, stop["line"])]
    which = ORDINALS.index(stop["which"] or "first")
    at = -1 if ORDINALS[which] == "last" else which
    if not found or at >= len(found):
        raise UnknownStopError(f"{name!r} does not happen{_why_not(trace, form, found, len(anywhere))}")
    return found[at]


def _read(thing: str) -> tuple[Form, re.Match[str]] | None:
    matches = ((form, match) for form in FORMS if (match := form.pattern.fullmatch(thing)) is not None)
    return next(matches, None)


def _is_in(trace: Trace, step: int, text: str | None) -> bool:
    """Return whether a step is within a line with a text: its own, or one that its function was called from."""
    return text is None or any(text in source_text(trace, line) for line in user_stack(trace, step))


def _why_not(trace: Trace, form: tuple[Form, re.Match[str]], found: Sequence[int], anywhere: int) -> str:
    """How many there are, or that there are some in other lines, or what there is instead."""
    number = len(found) or anywhere
    if not number:
        return _instead(trace, *form)
    where = "" if found else " in other lines"
    return f": there {'is' if number == 1 else 'are'} {counted(number, 'such step')}{where}"


def _instead(trace: Trace, form: Form, name: re.Match[str]) -> str:
    """What a name of that form could mean in the trace."""
    groups = name.groupdict()
    there = _there(trace, form, groups)
    wanted = next((value for value in groups.values() if value), "")
    near = difflib.get_close_matches(wanted, there, 3, 0.3) or there[:5]
    return f"; there is {', '.join(near)}" if near else ""


def _there(trace: Trace, form: Form, groups: Mapping[str, str | None]) -> list[str]:
    found: Iterable[str]
    if "op" in groups:
        found = (operator.rpartition("::")[2] for operator, _, _ in trace.columns.calls())
    elif "var" in groups:
        found = (name for name in index(trace).holders)
    elif "name" in groups:
        assert isinstance(form.steps, _Named)
        found = map(partial(form.steps.name_at, trace), trace.steps_of(form.steps.kind))
    else:
        return []
    return list(dict.fromkeys(found))
