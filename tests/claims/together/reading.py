r"""The reading of a step: every word that counts or compares must have a reader, and must agree with the values.

A reader is a function for a pattern in the sentences of some kinds::

    @reads(r"it is the only Node that is ready", "Node runs, no other waits")
    def alone(step: Step, found: re.Match[str]) -> Problems:
        ...
        yield "b waits there, too"

``always`` names texts that no value of the step can contradict: rules of PyTorch that always hold, and facts that a
claim checks. A word of ``WORDS`` that neither covers is a problem itself, so a new sentence cannot slip through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import label, statements
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.trace import Trace
from tests.claims.together.so_far import SoFar

Problems = Iterator[str]

WORDS = re.compile(
    r"\b(all|every|only|first|last|above|below|empty|nothing|none|nobody|no other|never|both)\b"
    r"|\b(highest|largest|smallest)\b",
    re.IGNORECASE,
)
"""Words that a value can contradict."""

CODE = re.compile(
    r"\(\(.*\)\)|\bin None\b|\b(?:is|=|is then) None\b|None in Python|return None"
    r"|\b\w+::[\w.:]+|'[^']*'|\"[^\"]*\"|`[^`]*`|\b\w+\([^()]*\)|\b\w+\.\w[\w.]*"
)
"""Names and texts of programs and operators, in which these words mean nothing."""


@dataclass(frozen=True)
class Step:
    """A step of a trace, with what is shown of it."""

    trace: Trace
    seq: int
    so_far: SoFar
    """The facts from the events up to this one."""

    @cached_property
    def event(self) -> Any:
        """The event. Each reader knows its kind."""
        return self.trace[self.seq]

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return statements(self.trace, self.seq)

    @cached_property
    def row(self) -> str:
        """The step's row in the list of steps."""
        return label(self.trace, self.seq)

    @property
    def text(self) -> str:
        """All sentences, with the row."""
        return " ".join((self.row, *(statement.text for statement in self.statements)))


Reader = Callable[[Step, re.Match[str]], Problems]


@dataclass
class Reading:
    """The readers of a kind, by pattern."""

    readers: list[tuple[re.Pattern[str], Reader | None]] = field(default_factory=list)


READERS: dict[str, Reading] = {}
"""The readers by kind of sentence."""

VERBATIM: set[str] = set()
"""Kinds whose sentences quote the program, its output or an error, so their words are not ours."""

PANES: list[Callable[[Step], Problems]] = []
"""The checks that also read a step's row and panes."""


def reads(pattern: str, *kinds: str) -> Callable[[Reader], Reader]:
    """Make a function the reader of a pattern in the sentences of some kinds."""

    def register(reader: Reader) -> Reader:
        _register(pattern, kinds, reader)
        return reader

    return register


def always(pattern: str, *kinds: str) -> None:
    """Declare that no value of a step can contradict the pattern in these kinds."""
    _register(pattern, kinds, None)


def _register(pattern: str, kinds: Iterable[str], reader: Reader | None) -> None:
    for kind in kinds:
        READERS.setdefault(kind, Reading()).readers.append((re.compile(pattern, re.IGNORECASE | re.DOTALL), reader))


def beside(check: Callable[[Step], Problems]) -> Callable[[Step], Problems]:
    """Make a function a check of rows and panes."""
    PANES.append(check)
    return check


def contradictions(step: Step) -> Problems:
    """Yield every contradiction between the sentences of a step and its values, row or panes."""
    for statement in step.statements:
        for problem in _read(step, statement):
            yield f"{statement.kind}: {statement.text}\n    {problem}"
    for check in PANES:
        for problem in check(step):
            yield f"{check.__name__}: {step.text}\n    {problem}"


def _read(step: Step, statement: Statement) -> Problems:
    for reader, found in _found(statement.kind, statement.text):
        if reader is not None:
            yield from reader(step, found)
    unnoticed = unread(statement.kind, statement.text, step.so_far.variables)
    yield from (f"no reader for {word!r}" for word in unnoticed)


def _found(kind: str, text: str) -> Iterator[tuple[Reader | None, re.Match[str]]]:
    for pattern, reader in READERS.get(kind, Reading()).readers:
        yield from ((reader, found) for found in pattern.finditer(text))


NUMBERED = re.compile(r"\b\w+(?= \(t\d+\))")
"""The tensor's number beside a variable's name, if the program has a variable of that name."""

RESULT = re.compile(r"the result of the (\w+) ([\w.]+) on line (\d+)", re.IGNORECASE)
"""A tensor without a name, made by one of several calls of an operator on a line (``errors.py`` checks the count)."""


def unread(kind: str, text: str, variables: Collection[str] = ()) -> Iterator[str]:
    """Yield the words of a sentence that count or compare and that have no reader, each with its surroundings."""
    if kind in VERBATIM:
        return
    spans = [found.span() for _, found in _found(kind, text)]
    plain = RESULT.sub(lambda found: "_" * len(found[0]), text)
    plain = CODE.sub(lambda found: "_" * len(found[0]), plain)
    plain = NUMBERED.sub(lambda found: "_" * len(found[0]) if found[0] in variables else found[0], plain)
    for word in WORDS.finditer(plain):
        if not any(begin <= word.start() and word.end() <= end for begin, end in spans):
            yield plain[max(0, word.start() - 30) : word.end() + 30]


def steps_of(trace: Trace) -> Iterator[Step]:
    """Yield every step of a trace, each with the facts up to it."""
    so_far = SoFar(trace)
    for event in trace:
        so_far.goes_on(event)
        if not isinstance(event, (ev.SourceLine, ev.Printed)):
            yield Step(trace, event.seq, so_far)
