"""On an installed PyTorch, too, a line says that a call of a function begins with it as often as Python calls."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.node_groups import groups
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from tests.module_blocks import BLOCKS, ON_ONE_LINE
from tests.running.test_calls_begin import PROGRAMS, called, lines, source_of

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_says_that_a_call_begins_as_often_as_python_calls(name: str, tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(source_of(name))
    trace = program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace
    assert [line.function for line in lines(trace) if line.begins] == called(source_of(name))


def test_modules_that_one_line_calls_are_different_groups(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(ON_ONE_LINE)
    graph = backward_graph(program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace)
    titles = {path[0].title for path in groups(graph, "module").values() if path}
    assert titles == {f"model.{at}" for at in range(BLOCKS + 1)}
