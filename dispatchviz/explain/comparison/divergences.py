"""The differences of two runs by line of the program: the first difference and those after it.

A value over two traces for texts and screens. The sentences are in ``difference_sentences.py``.
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
"""The SourceLine of each run, or None where there is none."""

REGISTRATIONS = (ev.OperatorDefined, ev.KernelRegistered, ev.CellsRecomputed)


KEPT = 40
"""The number of differences of a line that are kept beside the first one."""

MAJOR = (
    ev.SourceLine, ev.BindingEntered, ev.Dispatched, ev.KernelSelected, ev.TorchDispatchEntered, ev.TensorCreated,
    ev.NodeCreated, ev.NodeStarted, ev.AutocastCast, ev.ErrorRaised, ev.ProgramRaised, ev.RequiresGradSet,
)  # fmt: skip
"""The kinds of events whose differences are more informative than others, which mostly are consequences."""


@dataclass(slots=True)
class Divergence:
    """A difference on a line of the program, by way or by value."""

    lines: Lines
    main: Difference
    """The first difference. The others mostly are its consequences."""
    further: list[Difference] = field(default_factory=list)
    """The next differences, at most ``KEPT``."""
    is_way: bool = False
    """True if PyTorch did something else on the line, and not only with other values."""
    times: int = 1
    """The number of times that the line differed in this way, for example in a loop."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, and their divergences."""

    first: Trace
    second: Trace
    divergences: tuple[Divergence, ...]
    """The divergences in order of occurrence, equal ones once."""
    numbers: Difference | None
    """The first result whose numbers differ although dtype and shape are equal."""
    numbers_first: bool
    """True if that result comes before the first divergence."""
    edit: Difference | None
    """The first line of the program that ran in both runs with another text."""
    output: Difference | None
    """The first text that only one run printed."""
    hashed: bool
    """True if both traces have hashes of results. Without them numbers are not compared."""
    alignment: Alignment = field(compare=False, repr=False)
    """The counterparts of steps."""

    @property
    def part(self) -> Difference | None:
        """The first difference by way, value or number, or None."""
        if self.numbers_first or not self.divergences:
            return self.numbers
        return self.divergences[0].main

    @property
    def same_way(self) -> bool:
        """True if PyTorch did the same in both runs, possibly with other values."""
        return not any(each.is_way for each in self.divergences)

    @property
    def same(self) -> bool:
        """True if they ran the same way and, as far as the traces show, computed the same numbers."""
        return not self.divergences and self.numbers is None


def compare(first: Trace, second: Trace, exact: bool = False) -> Comparison:
    """Compare two runs, in time proportional to their length. With ``exact``, all fields count, and also the tensors
    and Nodes that they name.
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
    """The differences collected so far."""

    def __init__(self, first: Trace, second: Trace) -> None:
        self._traces = first, second
        self._groups: dict[object, Divergence] = {}
        self._open: Divergence | None = None
        self._of_first: dict[int | None, int | None] = {}
        self._of_second: dict[int | None, int | None] = {}
        """The counterpart of each line that differs in something."""
        self.numbers: Difference | None = None
        self.numbers_first = False
        self.edit: Difference | None = None
        self.output: Difference | None = None

    def add(self, found: Difference) -> None:
        """Add the next difference."""
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
        """Return all divergences."""
        self._close()
        return self._groups.values()

    def _sort_of(self, group: Divergence) -> tuple[object, ...]:
        """Return the key by which equal groups are shown once."""
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
        """Return whether one run raises an error where the other goes on. That is why only one of them has the
        following steps.
        """
        alone = None in (main.first, main.second) and None in (found.first, found.second)
        was_error = any(isinstance(event, ev.ErrorRaised) for event in self._events(main))
        return alone and not was_error and any(isinstance(event, ev.ErrorRaised) for event in self._events(found))

    def _is_minor(self, found: Difference) -> bool:
        """Return whether a difference is rarely the cause: a lazy registration, another key set with the same highest
        key, another reason to make no Node.
        """
        events = list(self._events(found))
        if len(events) < 2:
            return isinstance(events[0], (*REGISTRATIONS, ev.NoNodeMade))
        return not any(isinstance(event, MAJOR) for event in events)

    def _comparable(self, found: Difference) -> bool:
        """Return whether the tensors have the same dtype and shape. Otherwise the numbers cannot be equal, and the way
        shows that.
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
