"""Where ``continue`` stops: at a step, at a kind of event, at an operator, at a key."""

from __future__ import annotations

from dataclasses import dataclass

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.key_names import known_key

KINDS = {kind.__name__.casefold(): kind.__name__ for kind in ev.Event.__subclasses__()}
"""Names of the kinds of events, however they are written."""

STEP, KIND, OPERATOR, KEY = "step", "event", "operator", "key"


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

    def __str__(self) -> str:
        return f"{self.what} {self.value}"


def breakpoint_named(text: str, trace: Trace) -> Breakpoint | None:
    """What a text means: ``37``, ``NodeCreated``, ``AutogradCUDA``, ``aten::add.Tensor`` or ``add``; None if nothing
    in the trace is called so."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return Breakpoint(STEP, text) if int(text) < len(trace) else None
    if kind := KINDS.get(text.casefold()):
        return Breakpoint(KIND, kind)
    if (key := known_key(text)) is not None:
        return Breakpoint(KEY, str(key))
    wanted = text if "::" in text else f"aten::{text}"
    found = (Breakpoint(OPERATOR, wanted) for event in trace if Breakpoint(OPERATOR, wanted).hits(event))
    return next(found, None)


def _base(operator: str) -> str:
    """``aten::add`` of ``aten::add.Tensor``."""
    return operator.partition(".")[0]
