"""The steps at which the panes of a page can change: between them, a pane made anew is the same."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.uses import uses
from dispatchviz.explain.trace_index.step_tensors import tensors_of, variables_of
from dispatchviz.outputs.page.interned_lines import Facts, Lines
from dispatchviz.outputs.page.pane_tracks import CHANGED_BY, COSTLY, ON, WIDTH, changes_of
from dispatchviz.outputs.page.shared_rows import Rows
from dispatchviz.outputs.page.step_texts import Things, answers
from dispatchviz.outputs.page.tensor_cards import kept_card
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.views.layout.pane_layout import OUTPUT
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.tensors_pane import named_card
from dispatchviz.views.text.styled_line import Line
from tests.tui.programs import example

PROGRAMS = (
    *("forum.py", "inplace_error.py", "custom_operator.py", "hooks.py", "autocast.py", "no_grad.py", "vmap.py"),
    *("logging_mode.py", "saved_tensors.py", "wrapper_subclass.py"),
)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pane", CHANGED_BY, ids=lambda pane: PANES[pane][0])
def test_a_pane_is_the_same_until_a_step_that_can_change_it(name: str, pane: int) -> None:
    trace = example(name)
    changes = changes_of(pane, trace)
    assert len(changes) < len(trace)
    assert_same_between(trace, pane, changes)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pane", ON, ids=lambda pane: PANES[pane][0])
def test_rows_that_are_used_again_are_those_that_are_made_anew(name: str, pane: int) -> None:
    assert_rows_as_anew(example(name), pane)


@pytest.mark.parametrize("pane", ON, ids=lambda pane: PANES[pane][0])
def test_rows_of_a_training_loop_are_those_that_are_made_anew(pane: int) -> None:
    assert_rows_as_anew(run(Code(LOOP), output=io.StringIO()).trace, pane)


def assert_rows_as_anew(trace: Trace, pane: int) -> None:
    """Assert that rows that were made at another step are those of the step."""
    lines, known = Lines(), dict[Hashable, Rows]()
    for at in range(len(trace)):
        if nothing(pane, trace, at) is None:
            made = ON[pane](trace, at)
            if made.on not in known:
                known[made.on] = Rows(lines, made)
            assert facts(lines, known[made.on].numbers(made)) == facts(lines, lines.numbers(made.make())), at


def facts(lines: Lines, numbers: Iterable[int]) -> list[Facts]:
    """Return all that the file contains of some lines."""
    return [lines._facts[number] for number in numbers]


@pytest.mark.parametrize("name", PROGRAMS)
def test_cards_and_answers_that_are_used_again_are_those_that_are_made_anew(name: str) -> None:
    assert_same_as_anew(example(name))


def test_cards_and_answers_of_a_training_loop_are_those_that_are_made_anew() -> None:
    assert_same_as_anew(run(Code(LOOP), output=io.StringIO()).trace)


LOOP = """\
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x = torch.ones(2, 3)
for step in range(3):
    optimizer.zero_grad()
    loss = (model(x) * x[:, :1].t()).sum()
    loss.backward()
    optimizer.step()
    model.weight.data = model.weight.data.clone()
    with torch.no_grad():
        x.add_(1)
"""


def assert_same_as_anew(trace: Trace) -> None:
    """Assert that all cards and answers that a page uses again are those that are made anew at each step."""
    uses(trace).finish()
    things = Things()
    for at in range(len(trace)):
        for tensor in (*tensors_of(trace, at), *variables_of(trace, at)):
            assert kept_card(trace, tensor, at) == named_card(trace, tensor, at), at
        anew = [row for thing in things_of(trace, at) for row in answers(trace, thing, at)]
        assert things.rows(trace, at) == anew, at


def test_old_output_leaves_the_pane_at_the_steps_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatchviz.views.panes.output_pane.NEAR", 30)
    monkeypatch.setattr("dispatchviz.outputs.page.pane_tracks.NEAR", 30)
    text = "import torch\nfor i in range(20):\n    print(i)\nx = torch.ones(2)\nfor i in range(9):\n    x = x + 1\n"
    trace = run(Code(text), output=io.StringIO()).trace
    shown = [len(contents(trace, OUTPUT, at)) for at in range(len(trace))]
    assert max(shown) > shown[-1]
    assert_same_between(trace, OUTPUT, changes_of(OUTPUT, trace))


def assert_same_between(trace: Trace, pane: int, changes: set[int]) -> None:
    """Assert that the contents of a pane differ from those of the step before at some steps only."""
    before = contents(trace, pane, 0)
    assert 0 in changes
    for at in range(1, len(trace)):
        now = contents(trace, pane, at)
        assert at in changes or now == before, at
        before = now


def contents(trace: Trace, pane: int, at: int) -> list[Line]:
    """Return the rows of a pane, or what it says if it is empty. Of a costly pane only that, as its rows are made at
    every step that has them.
    """
    said = nothing(pane, trace, at)
    if said is not None:
        return [said]
    return [] if pane in COSTLY else rows_of(PANES[pane][1])(trace, at, WIDTH)
