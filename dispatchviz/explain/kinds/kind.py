"""The record of a kind of event: all texts about the events of one class, in one place.

``Kind(...) | Kind(...)`` joins records. The type of the result names the classes of events that have one, so the type
check finds a class without a record (``all_kinds.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import Statements

if TYPE_CHECKING:
    from typing_extensions import TypeIs

E = TypeVar("E", bound=ev.AnyEvent)
F = TypeVar("F", bound=ev.AnyEvent)

WIDTH = 60
"""The length at which free text (source lines, messages, values) in a label is cut."""

Group = Literal[
    "program", "binding", "dispatch", "thread", "structured", "tensor", "forward", "engine", "registration", "error",
    "unknown",
]  # fmt: skip
"""A group of kinds, which have the same sign and color."""

SIGNS: dict[Group, str] = {
    "program": ">",
    "binding": "»",
    "dispatch": "→",
    "thread": "§",
    "structured": "≡",
    "tensor": "□",
    "forward": "○",
    "engine": "←",
    "registration": "+",
    "error": "!",
    "unknown": "?",
}
"""The sign of each group, one column wide: forward signs point right, backward signs point left."""

Pane = Literal[
    "key set",
    "table cell",
    "calls",
    "source",
    "backward graph",
    "thread state",
    "tensors",
    "engine",
    "output",
    "structured kernel",
    "compiler",
]
"""A pane of the stepper that a step may need."""


class Rule(NamedTuple):
    """The rule that a kind of step follows, and where PyTorch follows it."""

    text: str
    function: str
    """The function to look for in PyTorch's sources; empty for events outside PyTorch."""
    file: str
    """The file that declares or defines it."""


NO_RULE = Rule("", "", "")
"""No rule, for kinds whose sentence is complete."""


@dataclass(frozen=True)
class Kind(Generic[E]):
    """The texts and the rule of a kind of event."""

    event: type[E]
    """The class of its events."""
    _: KW_ONLY
    group: Group
    label: Callable[[Trace, E], str]
    """The text of its row in the list of steps."""
    why: Callable[[Trace, E], Statements]
    """The reason for the step: one sentence, or several, each with its claims."""
    rule: Rule | Callable[[E], Rule]
    """The rule behind it, with PyTorch's function and file; a function if they depend on the event."""
    known: Known
    """The way in which a recording of an installed PyTorch knows of it."""
    level: Literal["lines", "calls", "keys", "all"] = "all"
    """The shortest list of steps that has a row for it."""
    panes: tuple[Pane, ...] = ()
    """The panes that show most about it, best first."""
    reason_in_log: Literal["always", "own calls", "never"] = "never"
    """The calls for which a log prints the sentence below the row: all, those that the program makes itself, or
    none.
    """

    def __or__(self, other: Kind[F]) -> Kinds[E | F]:
        return Kinds({self.event: self, other.event: other})


class Kinds(Generic[E]):
    """The records of some kinds; ``E`` is the union of their classes."""

    def __init__(self, records: dict[type[ev.Event], Kind[Any]]) -> None:
        self.records = records

    def __or__(self, other: Kind[F] | Kinds[F]) -> Kinds[E | F]:
        added: dict[type[ev.Event], Kind[Any]] = {other.event: other} if isinstance(other, Kind) else other.records
        return Kinds(self.records | added)

    def have(self, event: ev.Event) -> TypeIs[E]:
        """Return whether there is a record of an event's kind."""
        return type(event) in self.records


How = Literal["observed", "derived", "unseen"]


class Known(NamedTuple):
    """The way in which a kind of event is known."""

    how: How
    by: str
    """The place where it is observed, the facts that it is derived from, or the reason why it is unseen."""
    fields: Mapping[str, tuple[How, str]] = {}
    """The fields that are known in another way than the event, each with its source."""

    def __str__(self) -> str:
        """``observed: by whom; mask derived: from what``"""
        fields = [f"{name} {how}: {by}" for name, (how, by) in self.fields.items()]
        return "; ".join((f"{self.how}: {self.by}", *fields))


def unseen(by: str) -> Known:
    """The record of a kind that a recording of an installed PyTorch cannot have."""
    return Known("unseen", by)


QUEUE = "the engine does not expose its counts and ready queues"
SWITCHES = "the recorder does not watch the switches of the thread, only its key sets and grad mode at each call"
RELEASED = "a Node does not report when it releases its saved tensors or is freed"
