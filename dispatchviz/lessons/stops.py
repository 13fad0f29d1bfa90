"""The names of stops, such as ``z's Node``, ``call add`` and ``redispatch add to CUDA``, and the step that each means.

A name describes an event and has no step number, so it stays valid when the trace changes. It may begin with an ordinal
(``second call mul``) and end with a line of the program (``call mul in `y = x * x```).
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.registry import process
from dispatchviz.explain.cells.operator_names import close_operators, means_one
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, shortened
from dispatchviz.lessons.stop_steps import (
    Find,
    Named,
    NoStepError,
    UnknownStopError,
    UnseenStopError,
    accumulators_of,
    calls,
    errors,
    gradients_deleted,
    gradients_of,
    nodes_of,
    of_call,
    of_kind,
    of_line,
    printed,
    redispatches,
)

ORDINALS = ("first", "second", "third", "fourth", "fifth", "last")

_STOP = re.compile(
    rf"(?:(?P<which>{'|'.join(ORDINALS)})\s+)?(?P<thing>.*?)(?:\s+in\s+`(?P<line>[^`]+)`)?\s*", re.DOTALL
)

LONGEST = 80
"""The length of a name in an error message."""


class Form(NamedTuple):
    """A way to name a stop."""

    written: str
    """The form as documentation writes it."""
    means: str
    pattern: re.Pattern[str]
    steps: Find


OPERATOR, KEY, VARIABLE, NAME = r"(?P<op>[\w.:]+)", r"(?P<key>[A-Z]\w*)", r"(?P<var>\S+)", r"(?P<name>\S+)"
"""Parts of a name: an operator (``add``, ``add.Tensor``, ``torch.add``, ``mine::twice``), a key, a variable, any
other.
"""

AT_KEY, TO_KEY = rf"(?: at {KEY})?", rf"(?: to {KEY})?"


def _form(written: str, means: str, pattern: str, steps: Find) -> Form:
    return Form(written, means, re.compile(pattern), steps)


FORMS: tuple[Form, ...] = (
    _form("`z = x + y`", "the line of the program with this text", r"`(?P<text>[^`]+)`", of_line),
    _form("z's Node", "the creation of z's grad_fn", f"{VARIABLE}'s Node", nodes_of),
    _form("x's AccumulateGrad", "the creation of x's AccumulateGrad", f"{VARIABLE}'s AccumulateGrad", accumulators_of),
    _form("x.grad", "a gradient is written to x.grad", rf"{VARIABLE}\.grad", gradients_of),
    _form("x.grad = None", "x.grad becomes None", rf"{VARIABLE}\.grad = None", gradients_deleted),
    _form("call add", "a call of the operator; `at KEY`: one that goes to this key", f"call {OPERATOR}{AT_KEY}", calls),
    _form("redispatch add to CUDA", "a redispatch of the operator", f"redispatch {OPERATOR}{TO_KEY}", redispatches),
    _form(
        "key set of add",
        "the computation of its key set",
        f"key set of {OPERATOR}{AT_KEY}",
        of_call(ev.KeySetComputed),
    ),
    _form(
        "skipped keys of add",
        "its fallthrough keys",
        f"skipped keys of {OPERATOR}{AT_KEY}",
        of_call(ev.FallthroughSkipped),
    ),
    _form(
        "cell of add at CUDA",
        "the choice of the kernel for this key",
        f"cell of {OPERATOR}{AT_KEY}",
        of_call(ev.KernelSelected),
    ),
    _form(
        "kernel VariableType::add_Tensor",
        "the run of this kernel",
        f"kernel {NAME}",
        Named(ev.KernelEntered, "kernel"),
    ),
    _form(
        "guard AutoDispatchBelowAutograd",
        "the beginning of this guard",
        f"guard {NAME}",
        Named(ev.GuardEntered, "guard"),
    ),
    _form("Node MulBackward0", "the creation of this Node", f"Node {NAME}", Named(ev.NodeCreated, "name")),
    _form("run MulBackward0", "the engine runs this Node", f"run {NAME}", Named(ev.NodeStarted, "name")),
    _form(
        'printed "loss"',
        "the program prints a text with this part; `printed`: any text",
        r'printed(?: "(?P<written>.*)")?',
        printed,
    ),
    _form(
        "error",
        'an error is raised; `error RuntimeError`: one of this class; `error "a leaf"`: one that says this',
        r'error(?: (?P<exception>\w+))?(?: "(?P<said>.*)")?',
        errors,
    ),
    _form("event VersionBumped", "any kind of event in docs/lists/events.md", r"event (?P<kind>\w+)", of_kind),
)
"""The forms, in the order in which they are tried."""


def step_named(trace: Trace, name: str) -> int:
    """Return the step that a name means. Raise UnknownStopError, with the steps that exist, if it means none."""
    stop, form = _parts(name)
    anywhere = list(form[0].steps(trace, form[1]))
    found = [step for step in anywhere if _is_in(trace, step, stop["line"])]
    which = ORDINALS.index(stop["which"] or "first")
    at = -1 if ORDINALS[which] == "last" else which
    if not found or at >= len(found):
        said = f"{name!r} does not happen"
        if not anywhere and is_live(trace.header) and (why := _unseen(*form)):
            raise UnseenStopError(f"{said}. Not seen in a release build: {why}", why)
        raise NoStepError(f"{said}{_why_not(trace, form, found, len(anywhere))}")
    return found[at]


def steps_named(trace: Trace, name: str) -> list[int]:
    """Return all steps that a name without an ordinal means, which may be none. Raise UnknownStopError if it is not the
    name of a stop.
    """
    stop, form = _parts(name)
    if stop["which"]:
        raise UnknownStopError(f"{name!r} means one step; leave out {stop['which']} to count all of them")
    found = [step for step in form[0].steps(trace, form[1]) if _is_in(trace, step, stop["line"])]
    if not found:
        _check_operator(form[1].groupdict().get("op") or "")
    return found


def _check_operator(name: str) -> None:
    """Raise UnknownStopError for an operator that PyTorch does not have, because a misspelled one is never called. A
    namespace of its own belongs to a library, which may have any operator.
    """
    if not name or "::" in name.removeprefix("aten::"):
        return
    importlib.import_module("dispatchviz.torch")  # registers PyTorch's operators
    if not means_one(name, process.operators):
        near = close_operators(name, process.operators)
        raise UnknownStopError(f"there is no operator {name!r}{'; did you mean ' if near else ''}{' or '.join(near)}")


def _parts(name: str) -> tuple[re.Match[str], tuple[Form, re.Match[str]]]:
    """Return the parts of a name, and its form. Raise UnknownStopError if it is not the name of a stop."""
    stop = _STOP.fullmatch(name)
    form = None if stop is None else _read(stop["thing"])
    if stop is None or form is None:
        raise UnknownStopError(
            f"{name!r} is not the name of a stop; valid names: {', '.join(each.written for each in FORMS)}"
        )
    return stop, form


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
    there = _there(trace, form, groups)
    wanted = next((value for value in groups.values() if value), "")
    near = [shortened(each, LONGEST) for each in difflib.get_close_matches(wanted, there, 3, 0.3) or there[:5]]
    return f"; the trace has {', '.join(near)}" if near else ""


SEEN_IN_PART: dict[type[ev.Event], str] = {
    ev.GuardEntered: "only the guards of kernels are seen, in the key sets",
    ev.VariableSaved: "a saved tensor that a hook has packed is not read",
}
"""The kinds of which a recording of an installed PyTorch has some events, and why it lacks the others."""


def _unseen(form: Form, name: re.Match[str]) -> str:
    """Return why a recording of an installed PyTorch lacks a stop; empty if it would have it."""
    kind = _kind(form, name)
    if kind is None or kind in SEEN_IN_PART:
        return SEEN_IN_PART[kind] if kind else ""
    known = KINDS[kind].known
    return known.by if known.how == "unseen" else ""


def _kind(form: Form, name: re.Match[str]) -> type[ev.Event] | None:
    """Return the kind of event that a form names; None if it names several, or none."""
    if written := name.groupdict().get("kind"):
        return next((kind for kind in ev.KINDS if kind.__name__ == written), None)
    if isinstance(form.steps, Named):
        return form.steps.kind
    if form.steps is errors:
        return ev.ErrorRaised
    return ev.GradSet if form.steps is gradients_deleted else None


def _there(trace: Trace, form: Form, groups: Mapping[str, str | None]) -> list[str]:
    found: Iterable[str]
    if "op" in groups:
        found = (operator.rpartition("::")[2] for operator, _, _ in trace.columns.calls())
    elif "var" in groups:
        found = (name for name in index(trace).holders)
    elif "name" in groups:
        assert isinstance(form.steps, Named)
        found = map(partial(form.steps.name_at, trace), trace.steps_of(form.steps.kind))
    elif "written" in groups:
        found = (f'printed "{event.text.strip()}"' for event in trace if isinstance(event, ev.Printed))
    elif "said" in groups:
        raised = (event for event in trace if isinstance(event, ev.ErrorRaised | ev.ProgramRaised))
        found = (f'error {event.exception} "{event.message}"' for event in raised)
    else:
        return []
    return list(dict.fromkeys(found))
