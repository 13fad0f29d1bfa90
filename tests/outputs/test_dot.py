"""The DOT text of a backward graph: the texts of each Node, which may contain any characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.picture.dot import LOOKS, MOST_USES, drawing
from dispatchviz.outputs.picture.svg import svg, texts
from tests.explain.founding import founding
from tests.graphs import GraphTape, chain
from tests.steps import step


def source(trace: Trace, at: int | None = None) -> str:
    return drawing(backward_graph(trace, at)).source


def test_founding_program_gives_the_expected_dot() -> None:
    assert drawing(backward_graph(founding())).texts == snapshot(
        (
            "SumBackward0",
            "1st: done",
            "sequence_nr 1, from line 7",
            "gradient []",
            "AddBackward0",
            "2nd: done",
            "sequence_nr 0, from line 6",
            "gradient [2, 2]",
            "alpha=1",
            "self=x",
            "other=y",
            "AccumulateGrad (x)",
            "3rd: done",
            "sequence_nr max, from line 6",
            "[2, 2] float32 cuda:0",
            "no gradient",
            "Backward graph of forum.py",
            "Arrows: the direction in which gradients flow",
            "1st, 2nd, ...: the order in which the engine ran the Nodes",
            "cuda: emulated on NumPy (no GPU)",
        )
    )


def test_before_backward_no_state_is_written() -> None:
    trace = founding()
    forward = step(trace, ev.BackwardStarted) - 1
    written = drawing(backward_graph(trace, forward)).texts
    assert not any("run" in text or text.startswith("#") for text in written)


def test_cuda_is_not_mentioned_if_unused() -> None:
    tape = GraphTape()
    tape.backward(*tape.op("ExpBackward0", tape.leaf("x")))
    assert not any("cuda" in text for text in drawing(backward_graph(tape.trace(sources={}))).texts)
    assert any("emulated" in text for text in drawing(backward_graph(founding())).texts)


def test_real_cuda_is_not_called_emulated() -> None:
    tape = GraphTape()
    tape.backward(*tape.op("ExpBackward0", tape.leaf("x")))
    assert not any("cuda" in text for text in drawing(backward_graph(tape.trace(cuda="CuPy"))).texts)


def test_equal_traces_give_equal_bytes() -> None:
    assert source(founding()) == source(founding())


def test_box_lists_the_values_that_a_node_keeps() -> None:
    tape = GraphTape()
    x, y = tape.leaf("x", (2, 3)), tape.tensor("y", (3,))
    [z] = tape.op("MulBackward0", x, y, shapes=[(2, 3)], saved=(y,))
    tape.backward(z)
    trace = tape.trace()
    ends = (step(trace, ev.NodeStarted), step(trace, ev.NodeFinished))
    running, done = (drawing(backward_graph(trace, at)).texts for at in ends)
    assert {"1st: running", "saved other=y [3] version 0", "gradient [2, 3]"} <= set(running)
    assert {"1st: done, freed", "freed other=y [3] version 0"} <= set(done)


def test_undefined_saved_tensor_is_named_so() -> None:
    tape = GraphTape()
    tape.op("MulBackward0", tape.leaf("x"), tape.leaf("y"))
    tape.add(ev.VariableSaved, 2, "other", None, -1, False)
    assert "saved other=undefined" in drawing(backward_graph(tape.trace())).texts


def test_the_parent_of_anomaly_mode_is_an_edge_also_if_it_is_in_another_graph() -> None:
    tape = GraphTape()
    [y] = tape.op("PowBackward0", tape.leaf("x"))
    tape.op("MulBackward0", y)
    tape.add(ev.ParentAssigned, 2, 1)
    trace = tape.trace()
    drawn = drawing(backward_graph(trace))
    assert re.search(r"n2 -> n1 .*class=parent", drawn.source)
    assert "Dotted arrows: to the Node that was running when a Node was made (parent in anomaly mode)" in drawn.texts
    assert (drawn.boxes, drawn.edges) == (3, 3)
    tape.grad_fn[y] = None
    [z] = tape.op("ExpBackward0", y)
    tape.add(ev.ParentAssigned, 3, 1)
    tape.backward(z)
    drawn = drawing(backward_graph(tape.trace()))
    assert re.search(r"n1 .*label=PowBackward0 .*style=dotted", drawn.source)
    assert re.search(r"n3 -> n1 .*class=parent", drawn.source)
    assert "class=parent" not in source(tape.trace(), 0)


def test_edge_names_its_input_if_there_are_several() -> None:
    tape = GraphTape()
    a, b = tape.op("UnbindBackward0", tape.leaf("x"), shapes=[(3,), (4,)])
    tape.backward(*tape.op("DotBackward0", a, b, names=("self", "tensor")))
    drawn = drawing(backward_graph(tape.trace()))
    assert {"input_nr 0", "input_nr 1", "gradient 0 [3]", "gradient 1 [4]"} <= set(drawn.texts)
    assert re.search(r'n2:e1:s -> n1:t:n .*label="input_nr 1"', drawn.source)


def test_an_empty_edge_is_drawn_at_its_place() -> None:
    tape = GraphTape()
    tape.backward(*tape.op("AddBackward0", tape.tensor("y"), tape.leaf("x")))
    drawn = drawing(backward_graph(tape.trace()))
    assert "<e0>self=y|<e1>other=x" in drawn.source
    assert re.search(r"n1:e0:s -> n1e0_empty .*style=dashed", drawn.source)
    assert "n1:e1:s -> n0:t:n" in drawn.source


def test_many_edges_are_numbered_outside_of_the_box() -> None:
    tape = GraphTape()
    leaves = [tape.leaf(f"x{number}") for number in range(12)]
    tape.backward(*tape.op("CatBackward0", *leaves, names=()))
    drawn = drawing(backward_graph(tape.trace()))
    assert ":e" not in drawn.source
    assert {"0", "11"} <= set(drawn.texts)


@pytest.mark.parametrize("uses", [MOST_USES, MOST_USES + 1])
def test_a_leaf_used_often_is_drawn_once_in_full_and_in_short_at_its_other_uses(uses: int) -> None:
    drawn = drawing(backward_graph(chain(uses - 1)))
    proxies = [line for line in drawn.source.splitlines() if re.match(r"  n\d+e\d_n0 ", line)]
    assert len(proxies) == (0 if uses == MOST_USES else uses - 1)
    assert all('class="n0 done"' in line for line in proxies), "all copies can be lit together"
    assert (f"used {uses} times" in drawn.texts) == (uses > MOST_USES)


def test_colors_have_six_digits() -> None:
    colors = re.findall(r'"(#(?!step=)[^"]*)"', source(founding())) + [c for look in LOOKS.values() for c in look[:2]]
    assert colors
    assert all(re.fullmatch(r"#[0-9A-F]{6}", color) for color in colors)


def test_every_state_has_a_look_of_its_own_and_dark_text_stays_readable() -> None:
    assert set(LOOKS) == set(State)
    assert len(set(LOOKS.values())) == len(State)
    assert all(_luminance(fill) > 0.5 > 0.2 > _luminance(line) for fill, line, _, _ in LOOKS.values())


def _luminance(color: str) -> float:
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@example("\x00\x1b\ud800")
@example('\\N { } | <b>x</b> \\ " &lt; & f[N] x\ny \\')
@given(st.text(alphabet=st.sampled_from('{}|<>\\"&;#nlrNGEabx01[] \n\té→日'), max_size=12))
def test_any_text_is_drawn_as_it_is(text: str) -> None:
    """Any text is drawn in titles, values, port names and the header. ``svg`` itself raises an error if a text is
    missing.
    """
    tape = GraphTape()
    given = [tape.leaf(f"x{text}"), tape.tensor(f"y{text}")]
    tape.backward(*tape.op(f"{text}Backward0", *given, attributes={text: text}, names=(text, text)))
    picture = svg(drawing(backward_graph(tape.trace(program=text))))
    title = shown(f"AccumulateGrad (x{text})")
    assert " ".join(title.split()) in [" ".join(found.split()) for found in texts(picture)]
