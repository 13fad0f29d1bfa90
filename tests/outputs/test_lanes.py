"""The backward graph as rows of text."""

from __future__ import annotations

import cProfile

import pytest
from inline_snapshot import snapshot
from rich.cells import cell_len

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.views.panes.lanes import SIGNS, lanes
from tests.explain.founding import founding
from tests.graphs import GraphTape, chain
from tests.steps import step


def drawn(trace: Trace, at: int | None = None, tight: bool = False) -> str:
    return "\n".join(row.text for row in lanes(backward_graph(trace, at), tight=tight))


def diamond() -> Trace:
    tape = GraphTape()
    x = tape.leaf("x")
    [a] = tape.op("ExpBackward0", x)
    [b] = tape.op("MulBackward0", a, a)
    [c] = tape.op("AddBackward0", a, b, attributes={"alpha": "1"})
    tape.backward(c)
    return tape.trace()


@pytest.mark.parametrize("trace", [founding(), diamond(), chain(12)], ids=["founding", "diamond", "chain"])
@pytest.mark.parametrize("direction", [1, -1])
def test_rows_that_are_kept_are_those_that_would_be_drawn_anew(trace: Trace, direction: int) -> None:
    wide = {at: lanes(backward_graph(Trace(trace.header, trace.events), at)) for at in range(len(trace))}
    assert len({tuple(row.text for row in rows) for rows in wide.values()}) > 3
    for at in list(wide)[::direction]:
        graph = backward_graph(trace, at)
        assert lanes(graph) == wide[at]
        assert [row.here for row in lanes(graph)].count(True) <= 1
        assert all(cell_len(row.text) <= 12 for row in lanes(graph, width=12))
        assert lanes(graph) == wide[at]


def test_founding_program_gives_the_expected_rows() -> None:
    trace = founding()
    assert drawn(trace, step(trace, ev.EdgesCollected)) == snapshot("""\
▶ ○ AddBackward0  edges 0 self=x, 1 other=y (empty)  seq 0
  │
  ○ AccumulateGrad (x)  [2, 2] float32 cuda:0  seq max\
""")
    assert drawn(trace, step(trace, ev.NodeStarted, 1)) == snapshot("""\
  ● SumBackward0  1st: done  edges 0 self=z  []  seq 1
  │
▶ ◉ AddBackward0  2nd: running  edges 0 self=x, 1 other=y (empty)  [2, 2]  seq 0  alpha=1
  │
  ◔ AccumulateGrad (x)  waits for 1  [2, 2] float32 cuda:0  seq max\
""")
    assert drawn(trace) == snapshot("""\
  ● SumBackward0  1st: done  edges 0 self=z  []  seq 1
  │
  ● AddBackward0  2nd: done  edges 0 self=x, 1 other=y (empty)  [2, 2]  seq 0  alpha=1
  │
▶ ● AccumulateGrad (x)  3rd: done  [2, 2] float32 cuda:0  seq max\
""")


def test_a_double_edge_is_one_line_and_two_numbers() -> None:
    assert drawn(diamond()) == snapshot("""\
  ● AddBackward0  1st: done  edges 0 self=t1, 1 other=t2  [2]  seq 2  alpha=1
  ├─╮
  │ ● MulBackward0  2nd: done  edges 0 self=t1, 1 other=t1  [2]  seq 1
  ├─╯
  ● ExpBackward0  3rd: done  edges 0 self=x  [2]  seq 0
  │
▶ ● AccumulateGrad (x)  4th: done  [2] float32 cpu  seq max\
""")
    assert drawn(diamond(), tight=True) == snapshot("""\
  ● AddBackward0  1st: done  edges 0 self=t1, 1 other=t2  [2]  seq 2  alpha=1
  ├─╮
  │ ● MulBackward0  2nd: done  edges 0 self=t1, 1 other=t1  [2]  seq 1
  ├─╯
  ● ExpBackward0  3rd: done  edges 0 self=x  [2]  seq 0
▶ ● AccumulateGrad (x)  4th: done  [2] float32 cpu  seq max\
""")


def test_edge_names_its_input() -> None:
    tape = GraphTape()
    a, b = tape.op("UnbindBackward0", tape.leaf("x"), shapes=[(3,), (4,)])
    tape.op("DotBackward0", a, b, names=("self", "tensor"))
    assert drawn(tape.trace()) == snapshot("""\
▶ ○ DotBackward0  edges 0 self=t1, 1 tensor=t2 → input 1  [2]  seq 1
  │
  ○ UnbindBackward0  edges 0 self=x  [3] [4]  seq 0
  │
  ○ AccumulateGrad (x)  [2] float32 cpu  seq max\
""")


def test_empty_graph_has_no_rows() -> None:
    assert lanes(backward_graph(founding(), 0)) == []


def test_rows_fit_into_the_width() -> None:
    tape = GraphTape()
    x = tape.leaf("名前" * 30)
    [y] = tape.op("ExpBackward0", x)
    tape.op("MulBackward0", y, x)
    for trace in (tape.trace(), diamond(), chain(9)):
        for width in (0, 1, 2, 5, 20, 33, 80):
            assert all(cell_len(row.text) <= max(width, 2) for row in lanes(backward_graph(trace), width))


def test_the_steps_own_node_alone_is_marked() -> None:
    trace = founding()
    for event in trace:
        if isinstance(event, ev.NodeStarted):
            assert [row.node for row in lanes(backward_graph(trace, event.seq)) if row.here] == [event.node]


def test_every_state_has_a_sign_of_one_cell() -> None:
    assert set(SIGNS) == set(State)
    assert len(set(SIGNS.values())) == len(State)
    assert all(cell_len(sign) == 1 for sign in SIGNS.values())


def test_lines_join_users_to_what_they_use() -> None:
    """Rows of one lane that are not connected must not look as if they were."""
    tape = GraphTape()
    tape.leaf("x")
    tape.leaf("y")
    assert drawn(tape.trace()) == snapshot("""\
  ○ AccumulateGrad (x)  [2] float32 cpu  seq max
▶ ○ AccumulateGrad (y)  [2] float32 cpu  seq max\
""")


def calls(nodes: int) -> int:
    """Return the number of function calls that draw the last steps of a chain."""
    trace = chain(nodes)
    lanes(backward_graph(trace), 80)
    with cProfile.Profile() as profile:
        for at in range(len(trace) - 10, len(trace)):
            lanes(backward_graph(trace, at), 80)
    return sum(entry.callcount for entry in profile.getstats())


def test_a_step_costs_no_more_than_its_graph_is_long() -> None:
    assert calls(500) < 6 * calls(100)
