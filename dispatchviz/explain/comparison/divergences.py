"""Where two runs part: differences gathered by the program's lines, the first one and those after it.

A value over two traces, for a text and a screen alike; the sentences are in ``difference_sentences.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.run_tree import RunTree
from dispatchviz.explain.comparison.tree_alignment import Alignment, Difference
from dispatchviz.explain.trace_index.trace_index import index

Lines = tuple[int | None, int | None]
"""The SourceLine of each run, None where it has none."""

REGISTRATIONS = (ev.OperatorDefined, ev.KernelRegistered, ev.CellsRecomputed)


KEPT = 40
"""So many differences of a line are kept beside the first one."""

MAJOR = (
    ev.SourceLine, ev.BindingEntered, ev.Dispatched, ev.KernelSelected, ev.TorchDispatchEntered, ev.TensorCreated,
    ev.NodeCreated, ev.NodeStarted, ev.AutocastCast, ev.ErrorRaised, ev.ProgramRaised, ev.RequiresGradSet,
)  # fmt: skip
"""Kinds of which two that differ tell more than others, which mostly are consequences."""


@dataclass(slots=True)
class Divergence:
    """What differs on a line of the program, by way or by value."""

    lines: Lines
    main: Difference
    """The first one, of which the others are mostly consequences."""
    further: list[Difference] = field(default_factory=list)
    """The next ones, no more than ``KEPT``."""
    is_way: bool = False
    """PyTorch did something else on the line, not only with other values."""
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
    edit: Difference | None
    """The first line of the program that reads otherwise, and ran in both."""
    output: Difference | None
    """The first text that only one printed."""
    hashed: bool
    """Both traces have hashes of results; without them numbers are not compared."""
    alignment: Alignment = field(compare=False, repr=False)
    """Which steps are counterparts."""

    @property
    def part(self) -> Difference | None:
        """Where they part first, by way, by value or by number; None if they are the same."""
        if self.numbers_first or not self.divergences:
            return self.numbers
        return self.divergences[0].main

    @property
    def same_way(self) -> bool:
        """PyTorch did the same in both, be it with other values."""
        return not any(each.is_way for each in self.divergences)

    @property
    def same(self) -> bool:
        """They ran the same way and, as far as the traces say, computed the same numbers."""
        return not self.divergences and self.numbers is None


def compare(first: Trace, second: Trace, exact: bool = False) -> Comparison:
    """Compare two runs, in time that grows with their length. ``exact``: all fields count, and which tensors and Nodes
    they name.
    """
    hashed = all(len(trace.steps_of(ev.ResultHashed)) > 0 for trace in (first, second))
    gathered, alignment = _Gathered(first, second), Alignment(RunTree(first, exact), RunTree(second, exact))
    for difference in alignment.differences():
        if hashed or difference.sort != "numbers":
            gathered.add(difference)
    found = tuple(gathered.divergences())
    numbers, texts = (gathered.numbers, gathered.numbers_first), (gathered.edit, gathered.output)
    return Comparison(first, second, found, *numbers, *texts, hashed, alignment)


class _Gathered:
    """Differences as they come."""

    def __init__(self, first: Trace, second: Trace) -> None:
        self._traces = first, second
        self._groups: dict[object, Divergence] = {}
        self._open: Divergence | None = None
        self._of_first: dict[int | None, int | None] = {}
        self._of_second: dict[int | None, int | None] = {}
        """The line that is the counterpart of a line, as far as they differ in something."""
        self.numbers: Difference | None = None
        self.numbers_first = False
        self.edit: Difference | None = None
        self.output: Difference | None = None

    def add(self, found: Difference) -> None:
        """Take the next one."""
        if found.sort == "line":
            self._pair_lines(found)
        elif found.sort == "text":
            self._add_text(found)
        elif found.sort == "numbers":
            if self.numbers is None and self._comparable(found):
                self.numbers, self.numbers_first = found, not self._groups and self._open is None
        else:
            self._add_way(found)

    def _add_text(self, found: Difference) -> None:
        if all(isinstance(event, ev.SourceLine) for event in self._events(found)):
            self._pair_lines(found)
            if self.edit is None and None not in (found.first, found.second):
                self.edit = found
        if self.output is None and any(isinstance(event, ev.Printed) for event in self._events(found)):
            self.output = found

    def _pair_lines(self, found: Difference) -> None:
        if found.first is not None and found.second is not None:
            self._of_first[found.first], self._of_second[found.second] = found.second, found.first

    def _add_way(self, found: Difference) -> None:
        lines = self._lines(found)
        current = self._open
        if current is None or current.lines != lines:
            self._close()
            self._open = Divergence(lines, found, is_way=found.sort == "way")
            return
        current.is_way |= found.sort == "way"
        if (self._is_minor(current.main) and not self._is_minor(found)) or self._is_error_instead(current.main, found):
            current.main, found = found, current.main
        if len(current.further) < KEPT:
            current.further.append(found)

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
        ours, theirs = _line(first, found.first), _line(second, found.second)
        if found.first is None:
            return self._of_second.get(theirs), theirs
        return (ours, self._of_first.get(ours)) if found.second is None else (ours, theirs)

    def _is_error_instead(self, main: Difference, found: Difference) -> bool:
        """Return whether one run raises an error where the other goes on: that is why one of them has steps that the
        other has not.
        """
        alone = None in (main.first, main.second) and None in (found.first, found.second)
        was_error = any(isinstance(event, ev.ErrorRaised) for event in self._events(main))
        return alone and not was_error and any(isinstance(event, ev.ErrorRaised) for event in self._events(found))

    def _is_minor(self, found: Difference) -> bool:
        """Return whether a difference is seldom why a line differs: a registration that any call may need, another set
        with the same winner, another reason to make no Node.
        """
        events = list(self._events(found))
        if len(events) < 2:
            return isinstance(events[0], (*REGISTRATIONS, ev.NoNodeMade))
        return not any(isinstance(event, MAJOR) for event in events)

    def _comparable(self, found: Difference) -> bool:
        """Return whether the tensors are of one dtype and shape: else the numbers cannot be the same, and the way says
        so.
        """
        if found.first is None or found.second is None:
            return True
        first, second = self._traces
        return _dtype_and_shape(first, found.first) == _dtype_and_shape(second, found.second)


def _dtype_and_shape(trace: Trace, step: int) -> tuple[str, tuple[int, ...] | None]:
    tensor = trace.columns.tensors[step]
    made = index(trace).tensors.get(tensor)
    return "" if made is None else made.dtype, index(trace).shape(tensor, step)


def _line(trace: Trace, step: int | None) -> int | None:
    if step is None:
        return None
    line = trace.columns.lines[step]
    return line if 0 <= line < len(trace) else None


def _place(trace: Trace, line: int | None) -> tuple[str, int, str] | None:
    event = trace[line] if line is not None else None
    return (event.file, event.line, event.function) if isinstance(event, ev.SourceLine) else None
