"""Pictures of recordings of an installed PyTorch: all can be drawn, and their facts about memory and views are true
there.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from dispatchviz import Trace
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.memory.storage_sizes import memories
from dispatchviz.explain.graph.node_details import view_text
from dispatchviz.outputs.picture.svg import svg, texts
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from tests.amounts import some
from tests.explain.graph.test_node_details import PROGRAM
from tests.live.live_programs import PROGRAMS

pytestmark = pytest.mark.torch


def recorded(file: Path, text: str) -> Trace:
    file.write_text(text, encoding="utf-8")
    return program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace


def test_storages_are_as_big_as_pytorchs(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "a.py", PROGRAM)
    names = ("whole", "part", "turned", "double", "wide", "empty", "expanded")
    numbers = {event.name: event.tensor for event in trace if isinstance(event, ev.NameBound)}
    printed = next(event.text for event in trace if isinstance(event, ev.Printed))
    assert printed == f"{[sum(memories(trace, [numbers[name]]).values()) for name in names]}\n"


VIEWS = """
import torch
leaf = torch.ones(2, 3, requires_grad=True)
base = leaf * 1
row = base[0]
cell = row[1]
print(cell._base is base, row._base is base)
base[1] = 2.0
print(type(base.grad_fn).__name__)
base.sum().backward()
"""


def test_views_and_writes_to_them(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "a.py", VIEWS)
    assert [event.text for event in trace if isinstance(event, ev.Printed)] == ["True True\n", "CopySlices\n"]
    graph = backward_graph(trace, of="all")
    said = {view_text(trace, node, graph.at) for node in graph if node.name == "CopySlices"}
    assert said
    assert all(text.startswith("in place on a view of ") for text in said)


@pytest.mark.parametrize("name", some(list(PROGRAMS), 2))
def test_all_can_be_drawn(tmp_path: Path, name: str) -> None:
    trace = recorded(tmp_path / "a.py", PROGRAMS[name])
    graph = trace.backward_graph(of="all")
    if len(graph):
        graph.svg(detail="all", cluster="function")
    call = trace.steps_of(ev.Dispatched)[0]
    for drawn in (trace.call_graph(), trace.decision(call)):
        assert set(drawn.drawing.texts) <= {" ".join(text.split()) for text in texts(svg(drawn.drawing))}
