"""Recordings of a part of a program on an installed PyTorch, and whole recordings from which the same part is taken."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import Only, read_only
from dispatchviz.explain.comparison.first_mentions import FirstMentions
from dispatchviz.live import live_recorder
from dispatchviz.live.part_plan import Plan
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

BIRTHS = (ev.TensorCreated, ev.NameBound, ev.NameUnbound, ev.NodeCreated, ev.AccumulatorMade, ev.RequiresGradSet)
"""Events about things that may be older than the part."""


def recorded(path: Path, condition: str, whole: bool = False) -> Trace:
    """Record a part of a program. ``whole`` records everything and takes the part from it."""
    everything = mock.patch.object(live_recorder, "plan", lambda only, script: Plan(only, ""))
    with everything if whole else mock.patch.object(live_recorder, "unused", None, create=True):
        outcome = run(str(path), (), io.StringIO(), engine=engine_named("torch"), only=read_only([condition]))
    assert outcome.error is None, outcome.error_message
    assert not outcome.trace.notice
    return outcome.trace


def facts(trace: Trace, without: tuple[type[ev.Event], ...] = BIRTHS) -> list[str]:
    """Return the events as text, without the numbers that depend on what else was recorded."""
    return list(_facts(trace, without))


def _facts(trace: Trace, without: tuple[type[ev.Event], ...]) -> Iterator[str]:
    known, depth, numbers = FirstMentions(), dict[int, int](), dict[int, int]()
    for event in trace.events:
        depth[event.seq] = 0 if event.parent is None else depth[event.parent] + 1
        if not isinstance(event, without):
            plain = _plain(known.renumbered(event))
            if isinstance(plain, ev.NodeStarted):  # the numbers of a process go on with the next recording
                plain = replace(plain, sequence_nr=numbers.setdefault(plain.sequence_nr, len(numbers)))
            yield f"{'  ' * depth[event.seq]}{plain}"


def _plain(event: Any) -> ev.AnyEvent:
    fields: dict[str, Any] = {"seq": 0, "parent": None}
    if isinstance(event, ev.SourceLine):
        fields |= {"caller": None, "begins": False, "resumed": False}
    if isinstance(event, ev.EdgesCollected):
        fields["topological_nr"] = 0
    plain: ev.AnyEvent = replace(event, **fields)
    return plain
