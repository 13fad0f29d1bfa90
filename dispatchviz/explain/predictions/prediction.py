"""A question about a step that is not shown yet: its choices, why each is right or wrong, and the calls it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.foundation.english import shortened

LONGEST = 72
"""The length of a choice, which has one row however narrow the screen is."""

LONGEST_KNOWN = 200
"""The length of a line of known facts."""

MOST = 6
"""The largest number of choices. One of them denies that there is anything to choose."""


class Kind(Enum):
    """The subject of a question."""

    KEY = "which key wins"
    CELL = "where the kernel comes from"
    NODE = "whether a Node is recorded"
    COUNT = "what the dependency count is"
    READY = "whether a Node is ready"
    NEXT = "which Node runs next"
    GRADIENT = "how .grad gets its gradient"
    OWN = "a question of a lesson's author"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers."""

    text: str
    why: str
    """The reason why it is right, or wrong."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question that one step of a trace answers."""

    kind: Kind
    question: str
    known: tuple[str, ...]
    """The facts that the reader can use, one per line."""
    choices: tuple[Choice, ...]
    """The choices in an order that gives nothing away: keys by priority, Nodes by age, numbers by size. Empty if the
    reader types the answer.
    """
    right: Choice
    reveals: int
    """The step that shows the answer; earlier steps do not."""
    topic: tuple[object, ...] = field(repr=False)
    """The lesson of the question. Questions with equal topics are the same for a learner."""
    is_outer: bool = True
    """True for the engine and for calls that the program makes itself; False for calls within kernels."""
    shown_from: int = 0
    """The step from which recorded numbers contain the answer; 0 if no step before ``reveals`` has it."""

    @property
    def first_hidden(self) -> int:
        """The first step that must not be shown before the answer."""
        return self.shown_from or self.reveals

    @property
    def asked(self) -> int:
        """The last step that may be shown before the answer."""
        return self.first_hidden - 1

    def chosen(self, text: str) -> Choice | None:
        """The choice with a text. If the reader types the answer, any text is one."""
        if not self.choices and text:
            return self.right if normal(text) == normal(self.right.text) else Choice(shortened(text, LONGEST), "")
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
    """Return the question, or None if there is no real choice: it needs two or more different texts, one of them
    right.
    """
    made = tuple(Choice(shortened(text, LONGEST), why) for text, why in choices)
    answer = next((choice for choice in made if choice.text == shortened(right, LONGEST)), None)
    if answer is None or not 2 <= len(made) <= MOST or len({choice.text for choice in made}) < len(made) or not reveals:
        return None
    lines = tuple(shortened(each, LONGEST_KNOWN) for each in known)
    return Prediction(kind, question, lines, made, answer, reveals, (kind, *topic), is_outer)


ENGINE = (ev.DependenciesCounted, ev.DependencyMet, ev.NodeStarted, ev.GradientAccumulated)

INNER = (ev.NodeStarted, ev.TorchDispatchEntered, ev.TensorFormatted)
"""The steps whose calls the program does not make itself."""


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
