"""Where ``continue`` stops: at a step, at a kind of event, at an operator, at a key; only at what the trace has."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import known_key
from dispatchviz.tui.cursor.near_steps import neighbour
from dispatchviz.tui.cursor.typed_text import is_whole_number, repeated, whole_number

KINDS = {kind.__name__.casefold(): kind.__name__ for kind in ev.Event.__subclasses__()}
"""Names of the kinds of events, however they are written."""

STEP, KIND, OPERATOR, KEY = "step", "event", "operator", "key"

LIKE = 0.6
"""How alike two names must be for one to be meant by the other."""


@dataclass(frozen=True)
class Breakpoint:
    """One of them."""

    what: str
    """``step``, ``event``, ``operator`` or ``key``."""
    value: str

    def hits(self, event: ev.AnyEvent) -> bool:
        """Whether to stop at an event."""
        match self.what:
            case "step":
                return event.seq == int(self.value)
            case "event":
                return type(event).__name__ == self.value
        if not isinstance(event, ev.Dispatched):
            return False
        return event.key == self.value if self.what == KEY else self.value in (event.operator, _base(event.operator))

    def next(self, trace: Trace, at: int, forward: bool = True) -> int | None:
        """The nearest step at which to stop, on one side of a step; None if there is none."""
        return neighbour(self._steps(trace), at, forward)

    def _steps(self, trace: Trace) -> Sequence[int]:
        """All steps at which to stop, in order."""
        if self.what == STEP:
            return (int(self.value),)
        if self.what == KIND:
            columns = trace.columns
            return columns.of_kind.get(columns.kind_names.index(self.value), ())
        return _calls_named(trace, self)

    def __str__(self) -> str:
        return f"{self.what} {self.value}"


def breakpoint_named(text: str, trace: Trace) -> Breakpoint | None:
    """What a text means: ``37``, ``NodeCreated``, ``AutogradCUDA``, ``aten::add.Tensor`` or ``add``; None if no step of
    the trace is, or is about, that."""
    text = text.strip()
    if is_whole_number(text):
        return Breakpoint(STEP, str(whole_number(text))) if whole_number(text) < len(trace) else None
    key = known_key(text)
    names = _names(trace)
    return names.get(text.casefold()) or (None if key is None else names.get(str(key).casefold()))


def refusal(text: str, trace: Trace) -> str:
    """Why a text is no breakpoint of a trace, and what it may mean."""
    text = text.strip()
    if is_whole_number(text):
        return f"There is no step {repeated(text)}: the last one is {len(trace) - 1}"
    if text.casefold() in KINDS:
        why = f"No step of this trace is of the kind {KINDS[text.casefold()]}"
    elif known_key(text) is not None:
        why = f"No call in this trace is dispatched to {known_key(text)}"
    else:
        why = f"No step, event, operator or key of this trace is called {repeated(text)}"
    if meant := _near(text, trace):
        return f"{why}. Near: {', '.join(meant)}"
    return f"{why}. Its keys: {', '.join(_keys(trace)) or 'none'}" if known_key(text) is not None else why


def _near(text: str, trace: Trace) -> list[str]:
    """Up to four names of the trace that are like a text or have it in them."""
    names, text = _names(trace), text.casefold()
    alike = difflib.get_close_matches(text, names, 3, LIKE)
    found = [names[name].value for name in (*alike, *(name for name in names if text and text in name))]
    return list(dict.fromkeys(found))[:4]


def _names(trace: Trace) -> dict[str, Breakpoint]:
    """Everything in a trace that has a name, by that name in lower case: kinds of events first, then keys."""
    columns = trace.columns
    called = dict.fromkeys(operator for operator, _, _ in columns.calls())
    found = [
        *(Breakpoint(KIND, columns.kind_names[code]) for code in columns.of_kind),
        *(Breakpoint(KEY, key) for key in _keys(trace)),
        *(Breakpoint(OPERATOR, name) for operator in called for name in (_base(operator), operator)),
    ]
    named = {each.value.casefold(): each for each in reversed(found)}
    by_operator = sorted((each for each in found if each.what == OPERATOR), key=lambda each: each.value[:6] == "aten::")
    bare = {each.value.partition("::")[2].casefold(): each for each in by_operator}
    return bare | named


def _keys(trace: Trace) -> list[str]:
    """The keys that calls were dispatched to, in the order of the first such call."""
    return list(dict.fromkeys(key for _, key, _ in trace.columns.calls()))


_named: WeakKeyDictionary[Trace, dict[Breakpoint, Sequence[int]]] = WeakKeyDictionary()


def _calls_named(trace: Trace, point: Breakpoint) -> Sequence[int]:
    """The calls of an operator or to a key; looked up once."""
    known = _named.setdefault(trace, {})
    if point not in known:
        runs = [
            steps
            for operator, key, steps in trace.columns.calls()
            if point.value in ((key,) if point.what == KEY else (operator, _base(operator)))
        ]
        known[point] = runs[0] if len(runs) == 1 else array("i", sorted(chain.from_iterable(runs)))
    return known[point]


def _base(operator: str) -> str:
    """``aten::add`` of ``aten::add.Tensor``."""
    return operator.partition(".")[0]
