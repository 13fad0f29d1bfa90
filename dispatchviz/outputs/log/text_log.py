"""The trace as a plain log that is read from top to bottom: a row for each step, nested, with reasons for decisions.

Rule 1: the log explains the dispatch of calls that the program makes itself. Calls that kernels and formulas make are
only listed. A composite kernel counts as the program, because it only makes calls.
Rule 2: nothing is explained twice, neither by the same sentence nor by the same lesson about the same operator.
Rule 3: the calls that print a tensor are one row, which counts them.

The texts come from ``explain``. This module only decides which of them are printed, and where.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.release_differences import release_differences
from dispatchviz.explain.graph.version_counters import invalidated_by
from dispatchviz.explain.kinds.all_kinds import KINDS, why_here
from dispatchviz.explain.kinds.kind import SIGNS
from dispatchviz.explain.trace_index.enclosing_steps import caller, within
from dispatchviz.explain.trace_index.folded_steps import unfolded_events
from dispatchviz.explain.trace_index.other_threads import has_threads, line_elsewhere
from dispatchviz.explain.trace_index.recorded_engine import engine_text, why_chosen
from dispatchviz.foundation.english import counted
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.foundation.shown_text import ShownLines, shown_lines
from dispatchviz.outputs.log.log_filter import ALL_STEPS, EVERYTHING, LogFilter, chosen_steps

WIDTH = 110
"""The width of the log in columns. Labels may be longer; reasons are wrapped."""


class LogRow(NamedTuple):
    """A line of the log, in parts with different styles."""

    text: str
    margin: str = ""
    """The number of the step, at the beginning of the line."""
    sign: str = ""
    """The sign of the event's group, after the number."""
    is_reason: bool = False


def text_log(
    trace: Trace, begin: int = 0, wanted: LogFilter = ALL_STEPS, width: int = WIDTH, until: int | None = None
) -> ShownLines:
    """Return the lines of the log, without line ends, from step ``begin`` to the step before ``until``.

    The rows around step ``begin`` come first, and its reason is always given. The text of the program is escaped, so
    that it cannot control a terminal. Raise DispatchvizError if there are no such steps.
    """
    head, entries = _head_and_entries(trace, begin, wanted, width, until)
    return ShownLines(itertools.chain((row.text for row in head), _texts(entries)))


def _texts(entries: Iterable[_Entry]) -> Iterator[str]:
    for before, margin, sign_, text, reasons in entries:
        if before:
            yield from map("".join, before)
        yield margin + sign_ + text
        if reasons:
            yield from reasons


def log_rows(
    trace: Trace, begin: int = 0, wanted: LogFilter = ALL_STEPS, width: int = WIDTH, until: int | None = None
) -> Iterator[LogRow]:
    """Return the rows of the log, with reasons wrapped to a width and text as the trace has it. Errors are raised at
    once.
    """
    head, entries = _head_and_entries(trace, begin, wanted, width, until)
    return itertools.chain(head, _rows(entries))


def _rows(entries: Iterable[_Entry]) -> Iterator[LogRow]:
    for before, margin, sign_, text, reasons in entries:
        yield from (LogRow(text, margin, sign_) for margin, sign_, text in before)
        yield LogRow(text, margin, sign_)
        yield from (LogRow(reason, is_reason=True) for reason in reasons)


_Parts = tuple[str, str, str]
"""Margin, sign and text of a row."""
_Entry = tuple[Sequence[_Parts], str, str, str, Sequence[str]]
"""The rows of one step: those before it, its own margin, sign and text, and the lines of its reason."""


def _head_and_entries(
    trace: Trace, begin: int, wanted: LogFilter, width: int, until: int | None
) -> tuple[Iterator[LogRow], Iterator[_Entry]]:
    events, reasons = _chosen(trace, begin, wanted) if wanted.chooses else _all(trace, begin)
    if until is not None:
        events = itertools.takewhile(lambda each: each[0].seq < until, events)
    return _head(trace, not wanted.chooses), _entries(trace, events, reasons, begin, width)


Events = Iterator[tuple[ev.AnyEvent, int, int]]
"""The events of a log, each with the number of rows and of events that contain it."""


def _all(trace: Trace, begin: int) -> tuple[Events, _Reasons]:
    depths = trace.depths
    context = list(trace.ancestors(begin))[::-1] if begin else []
    events = itertools.chain(context, unfolded_events(trace, begin))
    return ((event, depth := depths[event.seq], depth) for event in events), _Reasons(trace)


def _chosen(trace: Trace, begin: int, wanted: LogFilter) -> tuple[Events, _Reasons | _Errors]:
    """Return a selection of the rows, each indented by the rows that contain it. Only the whole level has reasons."""
    steps = chosen_steps(trace, wanted)
    context = set(trace.columns.ancestors(begin)) if begin else ()
    nested = _nested(trace, (step for step in steps if step >= begin or step in context))
    events = ((trace[step], depth, trace.depths[step]) for step, depth in nested)
    return events, _Reasons(trace) if wanted.level == EVERYTHING else _Errors(trace)


def _nested(trace: Trace, steps: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield each step with the number of chosen steps that contain it."""
    ends, open_ = trace.ends, list[int]()
    for step in steps:
        while open_ and open_[-1] < step:
            open_.pop()
        yield step, len(open_)
        open_.append(ends[step])


_BLANK: tuple[_Parts, ...] = (("", "", ""),)


def _entries(trace: Trace, events: Events, reasons: _Reasons | _Errors, begin: int, wide: int) -> Iterator[_Entry]:
    """Yield the rows of events, with the reasons that are due."""
    width = len(str(max(len(trace) - 1, 0)))
    threads = _Threads(trace) if has_threads(trace) else None
    writers = {kind: (record.label, SIGNS[record.group]) for kind, record in KINDS.items()}
    due, margin, empty = reasons.due, f"%{width}d ".__mod__, f"{'':{width}} "
    for event, depth, around in events:
        seq, kind = event.seq, type(event)
        before = _BLANK if kind is ev.SourceLine else ()
        if threads is not None and (continuation := threads.continuation(event)):
            before = (*before, (empty, SIGNS["program"], f" {continuation}"))
        label, sign_ = writers[kind]
        reason = due(event, around) if kind in reasons.kinds or around <= reasons.depth else ""
        if begin == seq != 0:
            reason = why_here(trace, seq)
        indent = " " + "  " * depth
        lines = _reason_lines(reason, f"{empty} {indent}  | ", wide) if reason else ()
        yield before, margin(seq), sign_, indent + label(trace, event), lines


def _reason_lines(reason: str, beginning: str, wide: int) -> Sequence[str]:
    return [text for part in reason.split("\n") for text in broken(shown_lines(part), beginning, wide)]


class _Threads:
    """The line to which the rows belong, where several threads run. It receives each event in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._elsewhere: int | None = None

    def continuation(self, event: ev.AnyEvent) -> str:
        """Return a remark that another line continues here than in the row above; empty if none does, or if a line
        begins.
        """
        before, self._elsewhere = self._elsewhere, line_elsewhere(self._trace, event.seq)
        if self._elsewhere == before or isinstance(event, ev.SourceLine):
            return ""
        outer = self._trace.ancestors(event.seq)
        line = next((each for each in reversed(list(outer)) if isinstance(each, ev.SourceLine)), None)
        where = "" if line is None else f"line {line.line}{f' in {line.function}' if line.function else ''} "
        return f"({where}continues, on another thread than above)"


def _head(trace: Trace, whole: bool) -> Iterator[LogRow]:
    header = trace.header
    yield LogRow(f"{header.program} on {engine_text(header)}")
    if reason := why_chosen(header):
        yield LogRow(reason)
    if header.checked:
        yield LogRow(f"checked against {header.checked}")
    if whole:
        yield from _observed(trace)
    for notice in trace.notices:
        yield LogRow(f"note: {notice}")


MOST_DIFFERENCES = 12
"""The number of differences between releases that a log begins with at most. Steps have the others."""


def _observed(trace: Trace) -> Iterator[LogRow]:
    """Yield the differences from the model's release and the number of blind spots; nothing for the model."""
    header = trace.header
    if differs := [*(header.differs or ()), *release_differences(trace)]:
        yield LogRow(f"differences from PyTorch {MINOR}:")
        yield from (LogRow(f"  {sentence}") for sentence in differs[:MOST_DIFFERENCES])
        if (more := len(differs) - MOST_DIFFERENCES) > 0:
            yield LogRow(f"  {more} more; each step has its own.")
    if header.blind_spots:
        many = counted(len(header.blind_spots), "kind of facts is", "kinds of facts are")
        yield LogRow(f"{many} not visible in a release build: dispatchviz doctor --unseen lists them")


_EXPLAINED_ANYWHERE = frozenset(kind for kind, record in KINDS.items() if record.reason_in_log == "always") | {
    ev.VersionBumped
}
"""The kinds whose reasons are printed in all calls."""

_EXPLAINED = _EXPLAINED_ANYWHERE | {kind for kind, record in KINDS.items() if record.reason_in_log == "own calls"}
"""Those whose reasons are printed in calls that the program makes itself."""


_LESSONS: dict[type[ev.Event], Callable[[str, Any], Hashable]] = {
    ev.FallthroughSkipped: lambda operator, event: (operator, event.keys),
    ev.KernelSelected: lambda operator, event: (operator, ev.KernelSelected, event.key),
    ev.Dispatched: lambda operator, event: (operator, ev.Dispatched, event.key),
    ev.GuardEntered: lambda operator, event: (operator, event.guard),
    ev.HistorySet: lambda operator, event: ev.HistorySet,
}
"""For some kinds, a function from the operator of the innermost call and the event to the lesson."""


class _Call(NamedTuple):
    """An open dispatch."""

    event: ev.Dispatched
    depth: int
    is_own: bool
    """True if it belongs to a call of the program."""


class _Errors:
    """The reasons of a log that only explains errors."""

    kinds = frozenset((ev.ErrorRaised,))
    depth = -1

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def due(self, event: ev.AnyEvent, depth: int) -> str:
        """Return the reason of an error."""
        return why_here(self._trace, event.seq)


class _Reasons:
    """The reasons that are due and those that have been given.

    It receives in order each event of ``kinds``, and each event that may end a call, which is no deeper than ``depth``.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.kinds = _EXPLAINED
        self.depth = -1
        """The depth of the innermost open call; -1 if none is open. Calls within one that is not the program's own do
        not count.
        """
        self._given: set[Hashable] = set()
        self._open: list[_Call] = []

    def due(self, event: ev.AnyEvent, depth: int) -> str:
        """Return the reason of an event if it is due, and note that it is given; otherwise return an empty text."""
        calls = self._open
        while calls and calls[-1].depth >= depth:
            calls.pop()
        if isinstance(event, ev.Dispatched) and (not calls or calls[-1].is_own):
            calls.append(_Call(event, depth, self._is_own_call(event)))
        self.depth = calls[-1].depth if calls else -1
        is_own = not calls or calls[-1].is_own
        self.kinds = _EXPLAINED if is_own else _EXPLAINED_ANYWHERE
        if type(event) not in self.kinds or (isinstance(event, ev.Dispatched) and not event.is_redispatch):
            return ""  # the steps below a call explain it
        if isinstance(event, ev.VersionBumped) and not invalidated_by(self._trace, event):
            return ""
        lesson = self._lesson(event)
        return "" if lesson in self._given else self._new(event, lesson)

    def _new(self, event: ev.AnyEvent, lesson: Hashable) -> str:
        if isinstance(event, ev.GradientBuffered) and event.how == "stored":
            return ""
        sentence = "" if lesson else why_here(self._trace, event.seq)
        what = lesson or sentence
        if what in self._given:
            return ""
        self._given.add(what)
        return sentence or why_here(self._trace, event.seq)

    def _lesson(self, event: ev.AnyEvent) -> Hashable:
        """Return the lesson of a reason. Two events with the same lesson are explained only once.

        None means that the reason's own words are its lesson.
        """
        lesson = _LESSONS.get(type(event))
        return lesson and lesson(self._open[-1].event.operator if self._open else "", event)

    def _is_own_call(self, call: ev.Dispatched) -> bool:
        """Return whether a call belongs to a call of the program, given the open ones around it."""
        if not self._open:
            direct = call.parent is None or isinstance(self._trace[call.parent], ev.SourceLine)
            return direct or isinstance(caller(self._trace, call.seq), ev.BindingEntered)
        chosen = within(self._trace, self._open[-1].event.seq, ev.KernelSelected)
        return call.is_redispatch or (chosen is not None and chosen.reason == "math kernel")


def broken(sentence: str, begin: str, width: int) -> Iterator[str]:
    """Yield the lines of a sentence, each with the same beginning. A long beginning leaves room for 50 characters."""
    room = max(width - len(begin), 50)
    start, end = 0, len(sentence)
    if _is_odd(sentence):
        end = -1
    while end - start > room:
        blank = sentence.rfind(" ", start, start + room + 1)
        word = sentence[blank + 1 :].partition(" ")[0]
        if blank < 0 or "-" in word or len(word) > room:
            end = -1  # the word itself may be broken
        else:
            yield begin + sentence[start:blank]
            start = blank + 1
    if end >= 0:
        yield begin + sentence[start:]
    else:
        yield from textwrap.wrap(sentence[start:], len(begin) + room, initial_indent=begin, subsequent_indent=begin)


def _is_odd(sentence: str) -> bool:
    """Return whether a sentence contains blanks that wrapping would change."""
    return not sentence or "  " in sentence or "\n" in sentence or sentence[0] == " " or sentence[-1] == " "
