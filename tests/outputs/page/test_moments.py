"""What a page need not ask again: the stretches of steps that nothing is told in."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.outputs.page.moments import NO_NODE, NO_TENSOR, WAY, Kinds, moment
from dispatchviz.running.program import run
from tests.outputs.page.test_player_data import FORUM


@pytest.mark.parametrize("kind", NO_NODE)
def test_what_changes_no_node_names_none(kind: type[ev.Event]) -> None:
    assert not {"node", "nodes"} & {*kind.__struct_fields__}


@pytest.mark.parametrize("quiet", [WAY, NO_TENSOR, NO_NODE])
def test_a_step_that_tells_something_is_alone(quiet: Kinds) -> None:
    trace = run(FORUM).trace
    moments = [moment(trace, at, quiet) for at in range(len(trace))]
    assert moments == sorted(moments)
    assert len(set(moments)) < len(trace)
    for at, event in enumerate(trace.events):
        if not isinstance(event, quiet):
            assert moments.count(moments[at]) == 1, at


def test_behind_a_step_that_others_are_within_a_stretch_begins() -> None:
    trace = run(FORUM).trace
    ends = {trace.ends[step] for step in trace.steps_of(ev.NodeStarted)} - {len(trace) - 1}
    assert ends
    for end in ends:
        assert moment(trace, end, NO_NODE) < moment(trace, end + 1, NO_NODE)
