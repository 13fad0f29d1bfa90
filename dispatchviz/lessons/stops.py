"""The names of stops, such as ``z's Node``, ``call add`` and ``redispatch add to CUDA``, and the step that each means.

A name describes an event and has no step number, so it stays valid when the trace changes. It may begin with an ordinal
(``second call mul``) and end with a line of the program (``call mul in `y = x * x```).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted
from dispatchviz.foundation.errors import DispatchvizError

ORDINALS = ("first", "second", "third", "fourth", "fifth", "last")

_STOP = re.compile(
    rf"(?:(?P<which>{'|'.join(ORDINALS)})\s+)?(?P<thing>.*?)(?:\s+in\s+`(?P<line>[^`]+)`)?\s*", re.DOTALL
)

Steps = Iterator[int]


class Find(Protocol):
    """A function that yields the steps that a name may mean, in order."""

    def __call__(self, trace: Trace, name: re.Match[str], /) -> Steps: ...


class UnknownStopError(DispatchvizError):
    """A name that means no step of the trace."""


class Form(NamedTuple):
    """A way to name a stop."""

    written: str
    """The form as documentation writes it."""
    means: str
    pattern: re.Pattern[str]
    steps: Find


def _calls(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, "call")


def _redispatches(trace: Trace, name: re.Match[str]) -> Steps:
    return _dispatches(trace, name, "redispatch")


def _dispatches(trace: Trace, name: re.Match[str], how: str) -> Steps:
    """Yield the calls or redispatches of an operator, boxed ones included; only those of the key if one is given."""
    for step in trace.steps_of(ev.Dispatched):
        event = trace[step]
        if isinstance(event, ev.Dispatched) and event.how.startswith(how) and _is_meant(event, name):
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


def _of_call(kind: type[ev.Event]) -> Find:
    """Return a function that finds the steps of a kind within an operator's calls: key set, skipped keys, dispatch
    table entry.
    """

    def found(trace: Trace, name: re.Match[str]) -> Steps:
        for step in trace.steps_of(kind):
            call = next((each for each in trace.ancestors(step) if isinstance(each, ev.Dispatched)), None)
            if call is not None and _is_meant(call, name):
                yield step

    return found


class _Named(NamedTuple):
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


def _any(*kinds: type[ev.Event]) -> Find:
    return lambda trace, name: iter(sorted(step for kind in kinds for step in trace.steps_of(kind)))


def _node_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the creation of each Node that is the ``grad_fn`` of a variable with this name."""
    known = index(trace)
    nodes = (known.history(tensor, step) for step, tensor in known.holders.get(name["var"], ()))
    for node in dict.fromkeys(nodes):
        if node is not None and (made := known.nodes.get(node)) is not None:
            yield made.seq


def _accumulator_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where the AccumulateGrad of a leaf is created."""
    for step in trace.steps_of(ev.AccumulatorMade):
        event = trace[step]
        if isinstance(event, ev.AccumulatorMade) and _is_named(trace, event.tensor, step, name["var"]):
            yield step


def _gradient_of(trace: Trace, name: re.Match[str]) -> Steps:
    """Yield the steps where a leaf's ``.grad`` gets a gradient."""
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
        raise UnknownStopError(
            f"there is no event {name['kind']}{'; did you mean ' if near else ''}{' or '.join(near)}{'?' * bool(near)}"
        )
    return iter(trace.steps_of(kinds[name["kind"]]))


OPERATOR, KEY, VARIABLE, NAME = r"(?P<op>[\w.:]+)", r"(?P<key>[A-Z]\w*)", r"(?P<var>\S+)", r"(?P<name>\S+)"
"""Parts of a name: an operator (``add``, ``add.Tensor``, ``torch.add``, ``mine::twice``), a key, a variable, any
other.
"""

AT_KEY, TO_KEY = rf"(?: at {KEY})?", rf"(?: to {KEY})?"


def _form(written: str, means: str, pattern: str, steps: Find) -> Form:
    return Form(written, means, re.compile(pattern), steps)


FORMS: tuple[Form, ...] = (
    _form("`z = x + y`", "the line of the program with this text", r"`(?P<text>[^`]+)`", _of_line),
    _form("z's Node", "the creation of z's grad_fn", f"{VARIABLE}'s Node", _node_of),
    _form("x's AccumulateGrad", "the creation of x's AccumulateGrad", f"{VARIABLE}'s AccumulateGrad", _accumulator_of),
    _form("x.grad", "a gradient is written to x.grad", rf"{VARIABLE}\.grad", _gradient_of),
    _form(
        "call add", "a call of the operator; `at KEY`: one that goes to this key", f"call {OPERATOR}{AT_KEY}", _calls
    ),
    _form("redispatch add to CUDA", "a redispatch of the operator", f"redispatch {OPERATOR}{TO_KEY}", _redispatches),
    _form(
        "key set of add",
        "the computation of its key set",
        f"key set of {OPERATOR}{AT_KEY}",
        _of_call(ev.KeySetComputed),
    ),
    _form(
        "skipped keys of add",
        "its fallthrough keys",
        f"skipped keys of {OPERATOR}{AT_KEY}",
        _of_call(ev.FallthroughSkipped),
    ),
    _form(
        "cell of add at CUDA",
        "the choice of the kernel for this key",
        f"cell of {OPERATOR}{AT_KEY}",
        _of_call(ev.KernelSelected),
    ),
    _form(
        "kernel VariableType::add_Tensor",
        "the run of this kernel",
        f"kernel {NAME}",
        _Named(ev.KernelEntered, "kernel"),
    ),
    _form(
        "guard AutoDispatchBelowAutograd",
        "the beginning of this guard",
        f"guard {NAME}",
        _Named(ev.GuardEntered, "guard"),
    ),
    _form("Node MulBackward0", "the creation of this Node", f"Node {NAME}", _Named(ev.NodeCreated, "name")),
    _form("run MulBackward0", "the engine runs this Node", f"run {NAME}", _Named(ev.NodeStarted, "name")),
    _form("error", "an error is raised", "error", _any(ev.ErrorRaised, ev.ProgramRaised)),
    _form("event VersionBumped", "any kind of event in docs/lists/events.md", r"event (?P<kind>\w+)", _of_kind),
)
"""The forms, in the order in which they are tried."""


def step_named(trace: Trace, name: str) -> int:
    """Return the step that a name means. Raise UnknownStopError, with the steps that exist, if it means none."""
    stop = _STOP.fullmatch(name)
    form = None if stop is None else _read(stop["thing"])
    if stop is None or form is None:
        raise UnknownStopError(
            f"{name!r} is not the name of a stop; valid names: {', '.join(each.written for each in FORMS)}"
        )
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
    """Return whether a step belongs to a line with a text: its own line, or a line that called its function."""
    return text is None or any(text in source_text(trace, line) for line in user_stack(trace, step))


def _why_not(trace: Trace, form: tuple[Form, re.Match[str]], found: Sequence[int], anywhere: int) -> str:
    """Explain why a name means no step: how many such steps exist, that they are in other lines, or which names
    exist.
    """
    number = len(found) or anywhere
    if not number:
        return _instead(trace, *form)
    only, where = ("only ", "") if found else ("", " in other lines")
    return f": there {'is' if number == 1 else 'are'} {only}{counted(number, 'matching step')}{where}"


def _instead(trace: Trace, form: Form, name: re.Match[str]) -> str:
    """List names of that form that exist in the trace."""
    groups = name.groupdict()
    if groups.get("kind") and is_live(trace.header):
        return _unseen(groups["kind"] or "")
    there = _there(trace, form, groups)
    wanted = next((value for value in groups.values() if value), "")
    near = difflib.get_close_matches(wanted, there, 3, 0.3) or there[:5]
    return f"; the trace has {', '.join(near)}" if near else ""


def _unseen(name: str) -> str:
    """Return why a recording of an installed PyTorch has no events of a kind; empty if it may have some."""
    known = KINDS[next(kind for kind in ev.KINDS if kind.__name__ == name)].known
    return f". Not seen in a release build: {known.by}" if known.how == "unseen" else ""


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
