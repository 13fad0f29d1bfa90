"""Traces of processes of a distributed program, written by hand."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.core.record.trace_file.header import Process
from dispatchviz.explain.comparison.ranks.member import Member

SOURCE = "first\nsecond\nthird\nfourth\n"

Happened = int | tuple[str, int]
"""A line, or a collective and the millisecond at which it is called."""


def member(rank: int, *happened: Happened, raised: str = "", elements: int = 4, name: str = "") -> Member:
    """Return a process that reaches lines and calls collectives of the default group of two ranks."""
    process = Process(name=name or f"rank{rank}", number=rank + 10, parent=1, began=rank, launch="one")
    header = Header(cuda="none", program="train.py", engine="torch", process=process, sources={"train.py": SOURCE})
    events, line, number = list[ev.AnyEvent](), None, 0
    for what in happened:
        if isinstance(what, int):
            line = len(events)
            events.append(ev.SourceLine(line, None, "train.py", what))
        else:
            operator, time = what
            call = (f"c10d::{operator}", "default", (0, 1), rank, number, elements, "float32", -1, time * 10**6)
            events.append(ev.CollectiveCalled(len(events), line, *call))
            number += 1
    if raised:
        events.append(ev.ProgramRaised(len(events), line, raised, "no data", "train.py", 3))
    return Member(Trace(header, events), f"train.rank{rank}.dvtrace")


AGREEING = (
    member(0, 1, ("broadcast_", 5), 2, 3, ("allreduce_", 9), 4),
    member(1, 1, 2, ("broadcast_", 3), 3, ("allreduce_", 21)),
)
"""Two ranks that call the same collectives. Each comes last once."""
