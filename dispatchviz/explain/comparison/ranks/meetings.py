"""The collectives of several processes, matched: the same number in the same process group is the same collective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.explain.kinds.collective import after_node, amount, collective_name, group_text

Key = tuple[str, int]
"""A process group, and the number of a collective in it."""


class Meeting(Struct, frozen=True):
    """A collective in which processes wait for each other."""

    calls: Mapping[int, ev.CollectiveCalled]
    """The calls by the number of the lane."""
    missing: tuple[int, ...]
    """Ranks of the group that were recorded completely and did not call it."""

    @property
    def first(self) -> ev.CollectiveCalled:
        """The call of the lowest lane."""
        return self.calls[min(self.calls)]

    @property
    def time(self) -> int:
        """The time of the first call."""
        return min(call.time for call in self.calls.values())

    @property
    def last(self) -> int | None:
        """The lane that called last, for which the others waited; None if only one called."""
        return max(self.calls, key=lambda lane: self.calls[lane].time) if len(self.calls) > 1 else None

    def delay(self, lane: int) -> float:
        """Return how much later than the first one a lane called, in milliseconds."""
        return (self.calls[lane].time - self.time) / 1e6

    def when(self, lane: int) -> str:
        """Return when a lane called: ``first``, or how much later than the first one; empty if no other called."""
        if len(self.calls) < 2:
            return ""
        return "first" if self.calls[lane].time == self.time else f"+{self.delay(lane):.1f} ms"

    @property
    def agrees(self) -> bool:
        """True if all ranks made the same call."""
        return not self.missing and len({call.operator for call in self.calls.values()}) == 1

    def title(self, members: Sequence[Member]) -> str:
        """Return the collective and its last rank in words."""
        call = self.first
        lane = min(self.calls)
        node = after_node(members[lane].trace, call)
        text = (
            f"{collective_name(call)} {call.number} of {group_text(call)}, {amount(call)}{node and f', after {node}'}"
        )
        if not self.agrees or self.last is None:
            return text
        return f"{text}; {members[self.last].name} came last, {self.delay(self.last):.1f} ms after the first"


def meetings(members: Sequence[Member]) -> dict[Key, Meeting]:
    """Return the collectives of processes by their keys, in the order in which they were called first."""
    calls: dict[Key, dict[int, ev.CollectiveCalled]] = {}
    for lane, member in enumerate(members):
        for call in member.collectives:
            calls.setdefault((call.group, call.number), {})[lane] = call
    recorded = {member.rank for member in members if member.rank is not None and not member.is_partial}
    found = {key: Meeting(found, _missing(found, recorded)) for key, found in calls.items()}
    return dict(sorted(found.items(), key=lambda item: item[1].time))


def _missing(calls: Mapping[int, ev.CollectiveCalled], recorded: set[int]) -> tuple[int, ...]:
    called = {call.rank for call in calls.values()}
    ranks = next(iter(calls.values())).ranks
    return tuple(rank for rank in ranks if rank in recorded and rank not in called)
