"""Collectives that cannot end, because a rank calls another one or never calls it: the classical hang of a distributed
program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.ranks.meetings import Meeting, meetings
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.explain.kinds.collective import amount, collective_name, group_text
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text, user_stack
from dispatchviz.foundation.english import capital, listed

SAME_AMOUNT = frozenset({"c10d::allreduce_", "c10d::broadcast_", "c10d::reduce_", "c10d::allreduce_coalesced_"})
"""Operators to which all ranks must give the same number of elements of the same dtype."""


def mismatches(members: Sequence[Member]) -> Iterator[Statement]:
    """Yield the first mistake of each process group."""
    groups = set[str]()
    for meeting in meetings(members).values():
        group = meeting.first.group
        found = None if group in groups else _mismatch(members, meeting)
        if found is not None:
            groups.add(group)
            yield found


def _mismatch(members: Sequence[Member], meeting: Meeting) -> Statement | None:
    calls = meeting.calls
    if len({call.operator for call in calls.values()}) > 1:
        return _others(members, meeting)
    if meeting.missing:
        return _missing(members, meeting)
    if meeting.first.operator in SAME_AMOUNT and len({(call.elements, call.dtype) for call in calls.values()}) > 1:
        return _amounts(members, meeting)
    return None


def _others(members: Sequence[Member], meeting: Meeting) -> Statement:
    """State which rank calls what."""
    said = [
        f"{members[lane].name} calls {collective_name(call)}{_where(members[lane], call)}"
        for lane, call in meeting.calls.items()
    ]
    text = (
        f"{capital(listed(said))} as collective {meeting.first.number} of {group_text(meeting.first)}. All ranks of a "
        "group must call the same collectives in the same order."
    )
    return Statement("collectives differ", text)


def _missing(members: Sequence[Member], meeting: Meeting) -> Statement:
    """State which rank never calls a collective, and how its recording ends."""
    call, waiting = meeting.first, min(meeting.calls)
    absent = [member for member in members if member.rank in meeting.missing]
    ends = " ".join(_end(member) for member in absent)
    names = listed([member.name for member in absent])
    others = listed([members[lane].name for lane in meeting.calls])
    text = (
        f"{capital(names)} never called collective {call.number} of {group_text(call)}: {collective_name(call)}"
        f"{_where(members[waiting], call)}, for which {others} waited. {ends}"
    )
    return Statement("collective never called", text)


def _amounts(members: Sequence[Member], meeting: Meeting) -> Statement:
    said = [f"{members[lane].name} gives {amount(call)}" for lane, call in meeting.calls.items()]
    call, lane = meeting.first, min(meeting.calls)
    text = (
        f"The ranks do not agree in collective {call.number} of {group_text(call)}, {collective_name(call)}"
        f"{_where(members[lane], call)}: {listed(said)}."
    )
    return Statement("collectives of different sizes", text)


def _where(member: Member, call: ev.CollectiveCalled) -> str:
    """Return the line of the program in parentheses, with its text."""
    stack = user_stack(member.trace, call.seq)
    if not stack:
        return ""
    text = source_text(member.trace, stack[-1])
    return f" (line {stack[-1].line}{text and ': '}{text})"


def _end(member: Member) -> str:
    """Return how the recording of a process ends."""
    trace = member.trace
    raised = trace.steps_of(ev.ProgramRaised)
    error = trace[raised[-1]] if raised else None
    last = source_line(trace, len(trace) - 1) if len(trace) else None
    where = f" line {last.line}: {source_text(trace, last)}" if last is not None else " the beginning"
    if isinstance(error, ev.ProgramRaised):
        message = next(iter(error.message.splitlines()), "")
        return f"{capital(member.name)} raised {error.exception}{message and ': '}{message} (line {error.line})."
    called = member.collectives
    before = f" after {collective_name(called[-1])} {called[-1].number}" if called else ""
    return f"The recording of {member.name} ends{before} at{where}."
