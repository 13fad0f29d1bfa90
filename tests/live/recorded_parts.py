"""Recordings of a part of a program on an installed PyTorch, and the same part taken from whole recordings."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import EventFilter, read_only
from dispatchviz.explain.comparison.first_mentions import FirstMentions
from dispatchviz.live import live_recorder
from dispatchviz.live.part_plan import Plan
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import Outcome, run
from dispatchviz.trace import Trace

BIRTHS = (ev.TensorCreated, ev.NameBound, ev.NameUnbound, ev.NodeCreated, ev.AccumulatorMade, ev.RequiresGradSet)
"""Events about things that may be older than the part."""
AROUND = (ev.SourceLine, ev.ModuleCalled, ev.BackwardStarted, ev.BackwardFinished, ev.NodeStarted)
"""Events that may be around the part. A part that begins again shows the lines around it again."""


def recorded(path: Path, *conditions: str, output: io.StringIO | None = None) -> Outcome:
    """Record a program, or the part of it that conditions select. The program writes to ``output``."""
    only = read_only(conditions) if conditions else None
    outcome = run(str(path), (), output or io.StringIO(), engine=engine_named("torch"), only=only)
    assert not outcome.trace.notice
    return outcome


def filtered(path: Path, *conditions: str) -> Trace:
    """Record a program as a whole, and keep the part that conditions select."""
    with mock.patch.object(live_recorder, "plan", lambda only, script: Plan(only, "")):
        return recorded(path, *conditions).trace


def selected(trace: Trace, *conditions: str) -> list[ev.AnyEvent]:
    """Return the part of a whole recording that conditions select."""
    return list(EventFilter(read_only(conditions)).keep(trace.events))


def facts(events: Iterable[ev.AnyEvent], without: tuple[type[ev.Event], ...] = AROUND) -> list[str]:
    """Return the events as text, without the numbers that depend on what else was recorded. A switch of grad mode is
    noted at the next call, which may be in the part when the switch was before it.
    """
    return list(_facts(events, (*BIRTHS, ev.GradModeChanged, *without)))


def _facts(events: Iterable[ev.AnyEvent], without: tuple[type[ev.Event], ...]) -> Iterator[str]:
    mentions, older, numbers = FirstMentions(), set[int](), dict[int, int]()
    for event in events:
        if isinstance(event, ev.NodeCreated) and event.known:
            older.add(event.node)
        if isinstance(event, without) or (isinstance(event, ev.EdgesCollected) and event.node in older):
            continue
        yield repr(_plain(mentions.renumbered(event), numbers))


def _plain(event: Any, numbers: dict[int, int]) -> ev.AnyEvent:
    fields: dict[str, Any] = {"seq": 0, "parent": None}
    if isinstance(event, ev.SourceLine):
        fields |= {"caller": None, "begins": False, "resumed": False}
    if isinstance(event, ev.EdgesCollected):
        fields["topological_nr"] = 0
    if isinstance(event, ev.NodeStarted):  # the sequence numbers of a process go on with the next recording
        fields["sequence_nr"] = numbers.setdefault(event.sequence_nr, len(numbers))
    plain: ev.AnyEvent = replace(event, **fields)
    return plain
