"""A transformer's training step on one page: names, links and frames agree with the trace, and nothing is missing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.folding import fold_graph, fold_order
from dispatchviz.explain.graph.graph_fold import Section, everywhere, repeats, unfolded
from dispatchviz.explain.graph.node_groups import groups, module_of
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.outputs.picture.graph_picture import backward_graph
from dispatchviz.outputs.picture.svg import texts
from dispatchviz.running.program import run
from tests.transformer import LAYERS, transformer

XLINK = "{http://www.w3.org/1999/xlink}"
PAGE = 1400
"""The largest height and width of a page in points. Bigger pictures are scaled down until they are illegible."""


def picture(**how: str) -> str:
    return backward_graph(transformer()).svg(**how)  # type: ignore[arg-type]


def test_it_is_one_page() -> None:
    size = re.search(r'<svg width="(\d+)pt" height="(\d+)pt"', picture())
    assert size
    assert max(int(size[1]), int(size[2])) < PAGE
    assert len(backward_graph(transformer())) > 600


def test_the_layers_are_one_frame_with_their_names_and_their_function() -> None:
    shown = list(texts(picture()))
    assert f"layers.{LAYERS - 1} … layers.0 (Block.forward), × {LAYERS}" in shown
    assert sum(text.startswith("Block.attention: ") for text in shown) == 1
    assert any(text.endswith(": mixed = scores.softmax(-1) @ v") for text in shown)


WITHIN = """\
import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (torch.nn.Linear(4, 4) for _ in range(4))
    def forward(self, x):
        y = x
        for part in (self.query, self.key, self.value):
            y = torch.relu(part(y))
        return x + self.out(y)
layers = torch.nn.ModuleList(Block() for _ in range(4))
x = torch.ones(2, 4)
for layer in layers:
    x = layer(x)
x.sum().backward()
"""


def test_a_repeat_within_a_repeat_has_the_names_of_all_iterations(tmp_path: Path) -> None:
    (tmp_path / "within.py").write_text(WITHIN)
    graph = backward_graph(run(str(tmp_path / "within.py")).trace)
    shown = [*texts(graph.svg(folded=True, cluster="module"))]
    assert "layers.3 … layers.0 (Block.forward), × 4" in shown
    assert "layers.*.out … layers.*.key (Block.forward), × 3" in shown
    assert "layers.*.*" in shown


def test_every_parameter_is_named() -> None:
    leaves = {node.leaf.name for node in backward_graph(transformer()) if node.leaf}
    assert {
        f"layers.{n}.{part}" for n in range(LAYERS) for part in ("qkv.weight", "down.bias", "norm1.weight")
    } <= leaves
    written = " ".join(texts(picture()))
    for name in {re.sub(r"^layers\.\d+\.", "layers.*.", leaf) for leaf in leaves}:
        assert re.search(rf"leaf {re.escape(name)}(?![\w.])", written), name


def test_nodes_in_a_function_box_were_made_in_one_call() -> None:
    graph = backward_graph(transformer())
    fold = fold_graph(graph, 100)
    order, calls = fold_order(graph), groups(graph, "function")
    found = [
        (repeat, item)
        for repeat in repeats(fold.items)
        for item in repeat.body
        if isinstance(item, Section) and item.function
    ]
    assert [item.function for _, item in found] == ["Block.attention"]
    for repeat, item in found:
        for iteration in range(repeat.iterations):
            there = range(item.start + iteration * repeat.period, item.stop + iteration * repeat.period)
            made = {calls[order[at]][-1] for at in there if not graph.outline(order[at]).has_leaf}
            assert [group.title for group in made] == ["Block.attention"]


def test_unfolding_gives_every_node_again() -> None:
    graph = backward_graph(transformer())
    whole = unfolded(fold_graph(graph, 100))
    assert Counter(whole.names) == Counter(node.name for node in graph)


def test_links_lead_to_the_call_that_made_the_node() -> None:
    trace = transformer()
    graph = backward_graph(trace)
    links = list(ElementTree.fromstring(graph.svg(folded=True)).iter("{http://www.w3.org/2000/svg}a"))
    assert len(links) >= 7
    for link in links:
        step = re.fullmatch(r"#step=(\d+)", link.attrib[f"{XLINK}href"])
        assert step
        call, line = trace[int(step[1])], source_line(trace, int(step[1]))
        assert isinstance(call, ev.Dispatched)
        assert line
        name, made, place = link.attrib[f"{XLINK}title"].split("\n")
        assert made == f"made by {call.operator}, step {call.seq}"
        assert place == f"{line.file}:{line.line}"
        created = [e for e in trace[call.seq : trace.ends[call.seq] + 1] if isinstance(e, ev.NodeCreated)]
        assert name.partition(" (")[0] in {event.name.rpartition("::")[2] for event in created}


def test_no_link_leads_out() -> None:
    for href in re.findall(r'href="([^"]*)"', picture(cluster="module", detail="all")):
        assert href.startswith("#step=")


def test_frames_of_modules_hold_what_uses_their_parameters() -> None:
    graph = backward_graph(transformer())
    paths = groups(graph, "module")
    for node in graph:
        if node.leaf:
            assert paths[node.number][-1].title == module_of(node.leaf.name), node.title
            assert node.leaf.name.startswith(paths[node.number][0].title)
    adds = [paths[node.number] for node in graph if node.name == "AddBackward0"]
    assert [[group.title for group in path] for path in adds] == [
        [f"layers.{n}"] for n in reversed(range(LAYERS)) for _ in range(2)
    ]
    shown = list(texts(graph.svg(cluster="module")))
    for module in ("head", "norm", "embed", "layers.*.down", "layers.*.qkv"):
        assert module in shown


def test_all_iterations_of_a_folded_frame_have_that_name() -> None:
    graph = backward_graph(transformer())
    paths, order = groups(graph, "module"), fold_order(graph)
    (repeat,) = repeats(fold_graph(graph, 100, (), "module").items)
    for at in range(repeat.start, repeat.start + repeat.period):
        for iteration, place in enumerate(everywhere(at, [repeat])):
            titles = [group.title for group in paths[order[place]]]
            first = [group.title for group in paths[order[at]]]
            assert [title.replace(f"layers.{LAYERS - 1 - iteration}", "layers.*") for title in titles] == [
                title.replace(f"layers.{LAYERS - 1}", "layers.*") for title in first
            ]


def test_second_picture_has_the_same_bytes() -> None:
    assert picture(cluster="function", theme="auto") == picture(cluster="function", theme="auto")
