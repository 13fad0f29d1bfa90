"""A question about a step that has not been shown: its possible answers, why each is right or wrong, which calls it
is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.english import shortened

LONGEST = 72
"""Characters of a choice: it has a row, however narrow the screen."""

LONGEST_KNOWN = 200
"""Characters of a line of what is known."""

MOST = 6
"""So many choices a question has at most; one of them is for who doubts that there is anything to choose."""


class Kind(Enum):
    """What is asked."""

    KEY = "which key wins"
    CELL = "where the kernel comes from"
    NODE = "whether a Node is recorded"
    COUNT = "what the dependency count is"
    READY = "whether a Node is ready"
    NEXT = "which Node runs next"
    GRADIENT = "how .grad gets its gradient"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers."""

    text: str
    why: str
    """Why it is right, or why it is wrong."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question whose answer one step of a trace tells."""

    kind: Kind
    question: str
    known: tuple[str, ...]
    """What the reader may think from, a line each."""
    choices: tuple[Choice, ...]
    """In an order that does not tell: keys by priority, Nodes by age, numbers by size."""
    right: Choice
    reveals: int
    """The step that tells the answer; those before it do not."""
    topic: tuple[object, ...] = field(repr=False)
    """What one who answers it has understood: questions with equal topics are the same for a learner."""
    is_outer: bool = True
    """It is about a call that the program makes itself, or about the engine; not about what kernels call."""

    @property
    def asked(self) -> int:
        """The last step that may be shown before the answer."""
        return self.reveals - 1

    def chosen(self, text: str) -> Choice | None:
        """The choice with a text."""
        return next((choice for choice in self.choices if choice.text == text), None)


def prediction(
    kind: Kind,
    question: str,
    choices: Iterable[tuple[str, str]],
    right: str,
    reveals: int,
    topic: tuple[object, ...],
    known: Iterable[str] = (),
    is_outer: bool = True,
) -> Prediction | None:
    """The question, unless there is no real choice: two texts at least, no two the same, the right one among them."""
    made = tuple(Choice(shortened(text, LONGEST), why) for text, why in choices)
    answer = next((choice for choice in made if choice.text == shortened(right, LONGEST)), None)
    if answer is None or not 2 <= len(made) <= MOST or len({choice.text for choice in made}) < len(made) or not reveals:
        return None
    told = tuple(shortened(each, LONGEST_KNOWN) for each in known)
    return Prediction(kind, question, told, made, answer, reveals, (kind, *topic), is_outer)


ENGINE = (ev.DependenciesCounted, ev.DependencyMet, ev.NodeStarted, ev.GradientAccumulated)

INNER = (ev.NodeStarted, ev.TorchDispatchEntered, ev.TensorFormatted)
"""The program calls nothing that happens within these."""


def is_outer(trace: Trace, step: int) -> bool:
    """Return whether a step is the engine's own, or all calls around it are of one operator: a call and its
    redispatches.
    """
    columns = trace.columns
    if columns.kinds[step] in map(columns.code, ENGINE):
        return True
    dispatched, inner, operator = columns.code(ev.Dispatched), set(map(columns.code, INNER)), None
    for around in (step, *columns.ancestors(step)):
        kind = columns.kinds[around]
        if kind == dispatched:
            operator = columns.operators[around] if operator is None else operator
        if kind in inner or (kind == dispatched and columns.operators[around] != operator):
            return False
    return True
