"""The checks of claims against PyTorch.

A check is a function of a module ``check_*.py`` of this folder, for one class of claims::

    @checks(WriteRaises)
    def write_raises(claim: WriteRaises, question: Question) -> Answer:
        name = question.tensor(claim.tensor)
        if name is None:
            return None  # no variable leads there: it cannot be checked
        run = question.fresh_run()  # a separate run of PyTorch up to this statement, which may be changed
        ...
        return difference(claim.message, found)

``question.pytorch`` is a run that all questions about one statement share: it must not be changed. A claim holds for
the moment when its top-level statement has run. A claim about the engine holds for the engine's calls in that
statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from dispatchviz.core.record.events import AnyEvent, BackwardStarted
from dispatchviz.explain.sentences.sentence_claims import Claim
from dispatchviz.trace import Trace
from tests.claims.moments import Moment, Path
from tests.claims.pytorch_runs import Pass, PyTorchRun, run_on_pytorch

Answer = str | None
"""Empty if PyTorch does what was claimed; a text with the difference; None if the claim cannot be checked here."""

Some = TypeVar("Some", bound=Claim)
Kind = TypeVar("Kind", bound=AnyEvent)

CHECKS: dict[type[Claim], Callable[[Any, Question], Answer]] = {}
"""The check of each class of claims."""


class PyTorchMoment:
    """PyTorch at a moment of a program, shared by the questions of that moment, which may be thousands."""

    def __init__(self, source: str, trace: Trace, moment: Moment) -> None:
        self.source = source
        self.moment = moment
        self.tables: dict[str, Any] = {}
        """PyTorch's answers about the tables of operators."""
        self._trace = trace

    @cached_property
    def by_kind(self) -> dict[type[AnyEvent], list[AnyEvent]]:
        """The events of the statement by kind."""
        found: dict[type[AnyEvent], list[AnyEvent]] = {}
        for event in self._trace[self.moment.steps.start : self.moment.steps.stop]:
            found.setdefault(type(event), []).append(event)
        return found

    @cached_property
    def graph_tasks(self) -> list[int]:
        """The graph tasks of the engine's calls in the statement, by their numbers in the trace."""
        return [event.graph_task for event in self.by_kind.get(BackwardStarted, ())]

    @cached_property
    def pytorch(self) -> PyTorchRun:
        """A shared run, which checks must not change."""
        return run_on_pytorch(self.source, self.moment.position)


@dataclass(frozen=True)
class Question:
    """The place of a claim."""

    trace: Trace
    seq: int
    """The step whose sentence makes the claim."""
    shared: PyTorchMoment

    @property
    def moment(self) -> Moment:
        """The moment just after the statement of the step."""
        return self.shared.moment

    @property
    def pytorch(self) -> PyTorchRun:
        """PyTorch at that moment. It is shared and must not be changed."""
        return self.shared.pytorch

    def fresh_run(self) -> PyTorchRun:
        """Return a separate run of PyTorch up to that moment, which may be changed."""
        return run_on_pytorch(self.shared.source, self.moment.position)

    def tensor(self, number: int) -> str | None:
        """Return the variable that names a tensor of the trace, or None."""
        return self.moment.tensors.get(number)

    def node(self, number: int) -> Path | None:
        """The path to a Node of the trace."""
        return self.moment.nodes.get(number)

    def later(self, *kinds: type[Kind]) -> Iterator[Kind]:
        """Yield the events of the statement after the step."""
        return (e for kind in kinds for e in self.shared.by_kind.get(kind, ()) if e.seq > self.seq)  # type: ignore[misc]

    def in_pass(self, graph_task: int, number: int) -> tuple[Pass, int] | None:
        """Return the engine's call in PyTorch for a graph task, and the index of a Node of the trace there."""
        tasks = self.shared.graph_tasks
        ours, theirs = self.moment.passes, self.pytorch.passes
        if graph_task not in tasks or len(tasks) != len(ours) or len(ours) != len(theirs):
            return None
        which = tasks.index(graph_task)
        nodes = ours[which].nodes
        return (theirs[which], nodes.index(number)) if number in nodes else None


def checks(kind: type[Some]) -> Callable[[Callable[[Some, Question], Answer]], Callable[[Some, Question], Answer]]:
    """Make a function the check of a class of claims."""

    def register(check: Callable[[Some, Question], Answer]) -> Callable[[Some, Question], Answer]:
        CHECKS[kind] = check
        return check

    return register


def difference(claimed: object, found: object) -> Answer:
    """Return an empty string if both are equal, else a text of both."""
    return "" if claimed == found else f"claimed {claimed!r}, PyTorch {found!r}"
