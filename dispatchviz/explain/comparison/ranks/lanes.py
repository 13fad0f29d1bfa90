"""The lanes of several processes: rows in the order of time, a column for each process.

Between two collectives, the k-th rows of all lanes are side by side. A collective is a row across the lanes of the
ranks that call it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest

from msgspec import UNSET, Struct

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.ranks.meetings import Key, Meeting, meetings
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.explain.comparison.ranks.mismatches import mismatches
from dispatchviz.explain.sentences.statement import Statement


class LaneRow(Struct, frozen=True):
    """A row of the lanes."""

    steps: tuple[int | None, ...]
    """The step of each process; None if it has none here."""
    meeting: Meeting | None = None
    """The collective, if the row is one."""


class Lanes(Struct, frozen=True, dict=True):
    """Several processes side by side."""

    members: tuple[Member, ...]
    rows: tuple[LaneRow, ...]

    @cached_property
    def mistakes(self) -> tuple[Statement, ...]:
        """The first collective of each group that cannot end."""
        return tuple(mismatches(self.members))

    @cached_property
    def collectives(self) -> int:
        """The number of collectives."""
        return sum(row.meeting is not None for row in self.rows)

    @property
    def several_runs(self) -> bool:
        """True if the processes are known to belong to different runs."""
        known = (member.trace.header.process for member in self.members)
        return len({process.launch for process in known if process is not UNSET}) > 1


def lanes(members: Sequence[Member]) -> Lanes:
    """Return processes side by side."""
    found = meetings(members)
    waiting = [deque(_stops(member)) for member in members]
    rows = list[LaneRow]()
    key: Key | None = None
    while key is not None or not rows:
        lines = [_lines(stops) if member.collectives else [] for member, stops in zip(members, waiting, strict=True)]
        key = _next(waiting, found)
        for lane, member in enumerate(members):
            if not member.collectives and (key is None or member.began <= found[key].time):
                lines[lane] = _lines(waiting[lane])
        rows += map(LaneRow, zip_longest(*lines))
        if key is not None:
            steps = [stops.popleft().seq if _is_head(stops, key) else None for stops in waiting]
            rows.append(LaneRow(tuple(steps), found[key]))
        elif not rows:
            break
    return Lanes(tuple(members), tuple(rows))


Stop = ev.SourceLine | ev.ProgramRaised | ev.CollectiveCalled


def _stops(member: Member) -> Iterator[Stop]:
    """Yield the steps of a process that have a row: the lines that it reaches, its collectives, the error that ended
    it. A line that is reached several times in a row has one row.
    """
    trace, last = member.trace, None
    for step in trace.steps_of(ev.SourceLine, ev.CollectiveCalled, ev.ProgramRaised):
        event = trace[step]
        place = (event.file, event.line, event.function) if isinstance(event, ev.SourceLine) else None
        if isinstance(event, ev.CollectiveCalled | ev.ProgramRaised) or (
            isinstance(event, ev.SourceLine) and not event.resumed and place != last
        ):
            yield event
        last = place


def _is_call(stop: Stop) -> bool:
    return isinstance(stop, ev.CollectiveCalled)


def _key(stop: Stop) -> Key:
    assert isinstance(stop, ev.CollectiveCalled)
    return stop.group, stop.number


def _lines(stops: deque[Stop]) -> list[int]:
    """Return the steps of a lane up to its next collective, and remove them."""
    found = list[int]()
    while stops and not _is_call(stops[0]):
        found.append(stops.popleft().seq)
    return found


def _next(waiting: Sequence[deque[Stop]], found: Mapping[Key, Meeting]) -> Key | None:
    """Return the collective that comes next: one that all its callers have reached, else the earliest. Return None if
    no process has reached one.
    """
    heads = {_key(stops[0]) for stops in waiting if stops and _is_call(stops[0])}
    complete = [key for key in heads if all(_is_head(waiting[lane], key) for lane in found[key].calls)]
    return min(complete or heads, key=lambda key: found[key].time, default=None)


def _is_head(stops: deque[Stop], key: Key) -> bool:
    return bool(stops) and _is_call(stops[0]) and _key(stops[0]) == key
