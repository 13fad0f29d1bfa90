"""The details of a backward graph besides its Nodes: hooks, views, memory, the backward that made some, changes."""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.picture.dot import drawing
from dispatchviz.outputs.picture.graph_picture import BackwardGraph, backward_graph
from dispatchviz.outputs.picture.picture_options import CLUSTERS, DETAILS, Options
from dispatchviz.outputs.picture.svg import svg, texts
from tests.explain.programs import traced


@functools.cache
def hooked() -> Trace:
    return traced(
        """
        import torch
        x = torch.ones(2, 2, requires_grad=True)
        y = torch.ones(2, requires_grad=True)
        def double(grad): return grad * 2
        def seen(grads): pass
        def after(inputs, outputs): pass
        z = x * 3
        z.register_hook(double)
        z.grad_fn.register_prehook(seen)
        z.grad_fn.register_hook(after)
        z.retain_grad()
        x.register_post_accumulate_grad_hook(print)
        a = z.clone()
        a[0] = y
        b = a.view(4)
        loss = (b * b).sum()
        loss.backward()
        """
    )


@functools.cache
def twice() -> Trace:
    return traced(
        """
        import torch
        x = torch.tensor([1., 2.], requires_grad=True)
        y = (x ** 3).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        (g * g).sum().backward()
        """
    )


def written(graph: BackwardGraph, **how: object) -> tuple[str, ...]:
    return drawing(graph, Options(**how)).texts  # type: ignore[arg-type]


def test_hooks_are_listed_in_their_order() -> None:
    shown = [text for text in written(backward_graph(hooked())) if text.startswith("hook ")]
    assert shown == [
        "hook double: tensor pre hook of z",
        "hook retain_grad: retains-grad hook of z",
        "hook seen: pre hook",
        "hook after: post hook",
        "hook print: post-accumulate hook of x",
    ]


def test_views_are_named_with_their_base() -> None:
    shown = written(backward_graph(hooked()))
    assert "in place on a view of a, by CopyBackwards" in shown
    assert "b is a view of a" in shown


def test_saved_bytes_count_each_storage_once() -> None:
    """``b`` is saved twice and a view of ``a``, of 16 bytes; the number 3 is saved as float64."""
    before = next(event.seq for event in hooked() if isinstance(event, ev.BackwardStarted)) - 1
    assert "saved tensors: 24 bytes in 2 storages, each counted once" in written(backward_graph(hooked(), before))
    assert "saved tensors: 24 bytes in 2 storages, each counted once; freed by now" in written(backward_graph(hooked()))


def test_highest_detail_shows_everything() -> None:
    shown = written(backward_graph(hooked()), detail="all")
    created = {event.node: event.seq for event in hooked() if isinstance(event, ev.NodeCreated)}
    add = next(node for node in backward_graph(hooked()) if node.name == "CopySlices")
    call = next(event for event in hooked().ancestors(created[add.number]) if isinstance(event, ev.Dispatched))
    assert f"made by aten::copy_, step {call.seq}" in shown
    assert {"topological_nr 0", "topological_nr 3", "freed 16 bytes", "freed 8 bytes"} <= set(shown)


def test_each_detail_includes_the_one_before() -> None:
    graph = backward_graph(hooked())
    said = [set(written(graph, detail=detail)) for detail in DETAILS]
    assert all(fewer < more for fewer, more in pairwise(said))


def test_nodes_made_during_a_backward_have_a_frame_and_arrows() -> None:
    shown = drawing(backward_graph(twice()))
    assert "made during the backward of line 5 with create_graph=True" in shown.texts
    assert "PowBackward0 (n0)" in shown.texts  # of the graph that ran then, and is not drawn
    made_in_run = {
        event.node
        for run in twice()
        if isinstance(run, ev.NodeStarted) and run.parent is not None
        for event in twice()[run.seq : twice().ends[run.seq] + 1]
        if isinstance(event, ev.NodeCreated)
    }
    assert made_in_run
    for node in made_in_run:
        assert re.search(rf"n\d+ -> n{node} \[.* id=n{node}made ", shown.source)


def test_graph_without_nodes_made_in_a_backward_has_no_frame() -> None:
    assert "subgraph" not in drawing(backward_graph(hooked())).source


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("detail", DETAILS)
def test_every_text_is_in_the_picture(cluster: str, detail: str) -> None:
    for trace in (hooked(), twice()):
        drawn = drawing(backward_graph(trace, of="all"), Options(detail, cluster))  # type: ignore[arg-type]
        assert set(drawn.texts) <= {" ".join(text.split()) for text in texts(svg(drawn))}


def test_cluster_line_draws_frames_around_lines() -> None:
    shown = written(backward_graph(hooked()), cluster="line")
    assert "line 17: loss = (b * b).sum()" in shown
    assert "line 15: a[0] = y" in shown


def test_changed_nodes_are_marked() -> None:
    runs = [event for event in hooked() if isinstance(event, ev.NodeStarted)]
    since, at = runs[1].seq, runs[2].seq
    graph = backward_graph(hooked(), at)
    shown = written(graph, since=since)
    assert f"as of step {at}" in shown
    assert f"Thick line: changed since step {since}" in shown
    assert "2nd: done, freed, was running" in shown
    assert "3rd: running, was waiting" in shown
    assert "1st: done" in shown
    assert sum("was " in text for text in shown) == 2


def test_new_nodes_are_marked() -> None:
    created = [event.seq for event in hooked() if isinstance(event, ev.NodeCreated)]
    backward = next(event.seq for event in hooked() if isinstance(event, ev.BackwardStarted))
    shown = written(backward_graph(hooked(), backward - 1), since=created[-1] - 1)
    assert shown.count("new") == 1


HOSTILE = (
    "{x|y}", "<b>&amp;</b>", "<script>alert(1)</script>", 'a "q" \\n \\', "שלום مرحبا", "🔥", "a -> b", "%N \\N \\G",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_itself(name: str) -> None:
    trace = traced(
        f"""
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 2
            @staticmethod
            def backward(ctx, grad): return grad
        F.__name__ = {name!r}
        def hook(grad): pass
        hook.__name__ = {name!r}
        x = torch.ones(2, requires_grad=True)
        x.register_hook(hook)
        F.apply(x).sum().backward()
        """
    )
    picture = backward_graph(trace).svg(detail="all")
    shown = [" ".join(text.split()) for text in texts(picture)]
    assert any(text.startswith(f"hook {name}: ") for text in shown)
    assert any(text.startswith(f"made by {name}, step ") for text in shown)
    assert "<script" not in picture
    links = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}a")
    tooltips = [link.attrib["{http://www.w3.org/1999/xlink}title"].split("\n") for link in links]
    assert any(lines[1].startswith(f"made by {name}, step ") for lines in tooltips)
