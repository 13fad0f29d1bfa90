"""Where two runs part: differences gathered by the program's lines, the first one and those after it.

A value over two traces, for a text and a screen alike; the sentences are in ``difference_sentences.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.run_tree import RunTree
from dispatchviz.explain.comparison.tree_alignment import Alignment, Difference
from dispatchviz.explain.trace_index.trace_index import index

Lines = tuple[int | None, int | None]
"""The SourceLine of each run, None where it has none."""

REGISTRATIONS = (ev.OperatorDefined, ev.KernelRegistered, ev.CellsRecomputed)


@dataclass(slots=True)
class Divergence:
    """What differs on a line of the program, by way or by value."""

    lines: Lines
    main: Difference
    """The first one, of which the others are mostly consequences."""
    differences: int = 1
    """How many there are on the line."""
    times: int = 1
    """How often the line differed like this: a loop comes back to it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, and where they part."""

    first: Trace
    second: Trace
    divergences: tuple[Divergence, ...]
    """In the order of happening, equal ones once."""
    numbers: Difference | None
    """The first result whose numbers are others, though dtype and shape are the same."""
    numbers_first: bool
    """That comes before the first divergence."""
    output: Difference | None
    """The first text that only one printed."""
    hashed: bool
    """Both traces have hashes of results; without them numbers are not compared."""

    @property
    def same(self) -> bool:
        """They ran the same way and, as far as the traces say, computed the same numbers."""
        return not self.divergences and self.numbers is None


def compare(first: Trace, second: Trace) -> Comparison:
    """Compares two runs, in time that grows with their length."""
    gathered = _Gathered(first, second)
    for difference in Alignment(RunTree(first), RunTree(second)).differences():
        gathered.add(difference)
    hashed = all(len(trace.steps_of(ev.ResultHashed)) > 0 for trace in (first, second))
    found = tuple(gathered.divergences())
    return Comparison(first, second, found, gathered.numbers, gathered.numbers_first, gathered.output, hashed)


class _Gathered:
    """Differences as they come."""

    def __init__(self, first: Trace, second: Trace) -> None:
        self._traces = first, second
        self._groups: dict[object, Divergence] = {}
        self._open: Divergence | None = None
        self.numbers: Difference | None = None
        self.numbers_first = False
        self.output: Difference | None = None

    def add(self, found: Difference) -> None:
        """Takes the next one."""
        if found.sort == "text":
            self._add_text(found)
        elif found.sort == "numbers":
            if self.numbers is None and self._comparable(found):
                self.numbers, self.numbers_first = found, not self._groups and self._open is None
        else:
            self._add_way(found)

    def _add_text(self, found: Difference) -> None:
        if self.output is None and any(isinstance(event, ev.Printed) for event in self._events(found)):
            self.output = found

    def _add_way(self, found: Difference) -> None:
        lines = self._lines(found)
        current = self._open
        if current is None or not _same_line(current.lines, lines):
            self._close()
            self._open = Divergence(lines, found)
            return
        current.differences += 1
        current.lines = tuple(ours if ours is not None else new for ours, new in zip(current.lines, lines, strict=True))  # type: ignore[assignment]
        if self._is_registration(current.main) and not self._is_registration(found):
            current.main = found  # what a line registers for all that may come is seldom why it differs

    def _close(self) -> None:
        if self._open is not None:
            known = self._groups.setdefault(self._sort_of(self._open), self._open)
            known.times += known is not self._open
        self._open = None

    def divergences(self) -> Iterable[Divergence]:
        """All of them."""
        self._close()
        return self._groups.values()

    def _sort_of(self, group: Divergence) -> tuple[object, ...]:
        """Groups of which this is equal are shown once."""
        texts = tuple(_place(trace, line) for trace, line in zip(self._traces, group.lines, strict=True))
        kinds = tuple((type(event), getattr(event, "operator", "")) for event in self._events(group.main))
        return texts, group.main.sort, group.main.first is None, kinds

    def _events(self, found: Difference) -> Iterator[ev.AnyEvent]:
        steps = found.first, found.second
        return (trace[step] for trace, step in zip(self._traces, steps, strict=True) if step is not None)

    def _lines(self, found: Difference) -> Lines:
        first, second = self._traces
        return _line(first, found.first), _line(second, found.second)

    def _is_registration(self, found: Difference) -> bool:
        return all(isinstance(event, REGISTRATIONS) for event in self._events(found))

    def _comparable(self, found: Difference) -> bool:
        """Whether the tensors are of one dtype and shape: else their numbers cannot be the same, and the way says so."""
        described = []
        for trace, event in zip(self._traces, self._events(found), strict=False):
            if isinstance(event, ev.ResultHashed):
                made = index(trace).tensors.get(event.tensor)
                described.append((made and made.dtype, index(trace).shape(event.tensor, event.seq)))
        return len(described) < 2 or described[0] == described[1]


def _line(trace: Trace, step: int | None) -> int | None:
    if step is None:
        return None
    line = trace.columns.lines[step]
    return line if line >= 0 else None


def _same_line(one: Lines, other: Lines) -> bool:
    """Whether differences are on the same line, as far as both runs have it."""
    both = [(ours, theirs) for ours, theirs in zip(one, other, strict=True) if ours is not None and theirs is not None]
    return bool(both) and all(ours == theirs for ours, theirs in both)


def _place(trace: Trace, line: int | None) -> tuple[str, int, str] | None:
    event = trace[line] if line is not None else None
    return (event.file, event.line, event.function) if isinstance(event, ev.SourceLine) else None
