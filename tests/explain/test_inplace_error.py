"""Question 17 of those asked in public: which line modified the tensor? Told long before the backward fails."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.errors.version_counters import invalidated_by
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.running.program import Outcome, run
from dispatchviz.trace import Trace

EXAMPLES = Path(__file__).parents[2] / "examples"
REFUSED = "one of the variables needed for gradient computation has been modified by an inplace operation"


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.chdir(EXAMPLES.parent)
    return run("examples/inplace_error.py", (), io.StringIO())


def bumps(trace: Trace) -> list[ev.VersionBumped]:
    return [event for event in trace if isinstance(event, ev.VersionBumped)]


def warned(trace: Trace) -> list[str]:
    """What the spoiled Nodes saved, over all changes in place."""
    return [saved.name for bump in bumps(trace) for saved in invalidated_by(trace, bump)]


def test_the_program_ends_in_pytorchs_error(outcome: Outcome) -> None:
    assert outcome.status == 1
    assert f"line 9: RuntimeError: {REFUSED}: [torch.FloatTensor [3]], which is output 0 of Add, is at version 1; " in (
        outcome.error_message
    )


def test_the_step_that_writes_in_place_names_the_node_and_the_versions(outcome: Outcome) -> None:
    (bump,) = bumps(outcome.trace)
    assert why_here(outcome.trace, bump.seq) == (
        "y was changed in place: its version goes from 0 to 1. MulBackward0 (n2), made on line 6, saved "
        "version 0 as other and self: its backward will raise an error."
    )


def test_it_is_told_before_the_backward_begins(outcome: Outcome) -> None:
    log = "\n".join(text_log(outcome.trace))
    assert 0 < log.index("its backward will raise an error") < log.index("backward from")


def test_the_error_names_the_saving_node_the_line_and_the_versions(outcome: Outcome) -> None:
    error = next(e for e in outcome.trace if isinstance(e, ev.ErrorRaised))
    reason = (
        "MulBackward0 (n2), made on line 6, saved y at version 0 as other and self; line 7 (y.add_(1)) changed it in "
        "place, from version 0 to 1. "
    )
    told = why_here(outcome.trace, error.seq)
    assert told.startswith(reason)
    assert told.endswith(" ".join(error.message.split()))  # the message is whole
    ended = why_here(outcome.trace, len(outcome.trace) - 1)
    assert ended.startswith(f"{reason}RuntimeError ended the program at line 9: one of the variables needed for ")
    assert ended.endswith(told[-200:])


def test_a_change_through_a_view_is_noticed_too() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y.exp()
        z.detach().view(3).mul_(2)
    assert warned(trace) == ["result"]


def test_nothing_is_said_of_what_nobody_keeps() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.add_(1)  # mul keeps the number and not its result
        z = (y * y).sum()
        z.backward()
        y.detach().add_(1)  # the backward has let go of y
    assert len(bumps(trace)) > 1
    assert warned(trace) == []


def test_data_has_a_version_of_its_own() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y * y
        y.data.add_(1)
    assert len(bumps(trace)) == 1
    assert warned(trace) == []
    z.sum().backward()


def test_a_second_change_is_not_blamed() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.add_(1)
        with pytest.raises(RuntimeError, match=REFUSED):
            y.sum().backward()
    assert [len(invalidated_by(trace, bump)) for bump in bumps(trace)] == [1, 0]
