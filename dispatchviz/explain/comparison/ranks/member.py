"""One process of a program, with its trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from msgspec import UNSET, Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.english import nth


class Member(Struct, frozen=True, eq=False, dict=True):
    """A process that was recorded."""

    trace: Trace
    file: str = ""
    """The file of its trace."""

    @cached_property
    def collectives(self) -> tuple[ev.CollectiveCalled, ...]:
        """The collectives that it called, in order."""
        events = (self.trace[step] for step in self.trace.steps_of(ev.CollectiveCalled))
        return tuple(event for event in events if isinstance(event, ev.CollectiveCalled))

    @cached_property
    def rank(self) -> int | None:
        """The rank; None if the process belongs to no process group. A worker of a rank has none."""
        if self.collectives:
            return self.collectives[0].rank
        header = self.trace.header
        if header.process is UNSET:
            return header.rank
        found = re.fullmatch(r"rank(\d+)(-\d+)?", header.process.name)
        return int(found[1]) if found else None

    @cached_property
    def name(self) -> str:
        """The name: ``rank 1``, ``worker 0 (2nd) of rank 1``, ``process 4242``, ``main``."""
        process = self.trace.header.process
        if self.rank is not None:
            return f"rank {self.rank}"
        names = [] if process is UNSET else process.name.split(".")
        return " of ".join(map(_spoken, reversed(names)))

    @cached_property
    def is_partial(self) -> bool:
        """True if steps are missing that the process took while it was recorded: by ``--only``, or after a limit."""
        ended = any(part in each for each in self.trace.notices for part in ("recording ended", "recording stopped"))
        return bool(self.trace.header.only) or ended

    @property
    def began(self) -> int:
        """The time at which its recording began, in nanoseconds; 0 if it is unknown."""
        process = self.trace.header.process
        return 0 if process is UNSET else process.began


def _spoken(name: str) -> str:
    """Return the name of a process in words: ``worker 0 (2nd)`` for ``worker0-2``."""
    found = re.fullmatch(r"([a-z]+)(\d*)(?:-(\d+))?", name)
    if found is None:
        return name
    word, number, again = found.groups()
    return f"{word} {number}".strip() + (f" ({nth(int(again))})" if again else "")


def in_order(members: Sequence[Member]) -> tuple[Member, ...]:
    """Return processes in the order of their lanes: the first one, ranks, the others as they began."""
    return tuple(sorted(members, key=_key))


def _key(member: Member) -> tuple[int, int, int]:
    if member.rank is not None:
        return 1, member.rank, member.began
    return 0 if member.name == "main" else 2, 0, member.began
