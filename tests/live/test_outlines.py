"""The outline of a recording of an installed PyTorch is that of the model: lines, calls, iterations, modules, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.outline import ROOT, Outline
from dispatchviz.explain.outline.row_texts import row_texts
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from tests.amounts import in_turn

pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).parents[2] / "examples"
SAME = (
    *("mlp.py", "transformer_block.py", "vmap.py", "saved_tensors.py", "custom_operator.py"),
    *("chains/backward.py", "chains/grad.py", "chains/custom_operator.py"),
)
DIFFERENT = {
    "no_grad.py": "the end of a with block is not seen, because grad mode is not",
    "autocast.py": "the end of a with block is not seen, because autocast is not",
    "hooks.py": "a hook has a row in the Node that runs it",
    "inplace_error.py": "an error is seen when it leaves the program",
}
"""The examples whose outlines differ, each with the reason."""


def recorded(file: Path, engine: EngineName) -> Trace:
    return run(str(file), output=StringIO(), engine=engine_named(engine)).trace


def rows(outline: Outline, item: int | None = ROOT, depth: int = 0) -> Iterator[str]:
    """Yield the titles of all rows with the variables that they bind. Printed numbers have other last digits."""
    for child in outline.children(item):
        title, facts = row_texts(outline, child)
        bound = [text for text, group in facts if group == "tensor" and ": [" in text]
        yield re.sub(r"\d+\.\d+", "N", f"{'  ' * depth}{title[0]} {bound}")
        yield from rows(outline, child, depth + 1)


def outlines(file: Path) -> tuple[list[str], list[str]]:
    """Return the rows at the level of lines, of the installed PyTorch and of the model."""
    torch, model = (list(rows(Outline(recorded(file, name), 0))) for name in ("torch", "model"))  # type: ignore[arg-type]
    return torch, model


@pytest.mark.parametrize("name", in_turn(list(SAME), 3))
def test_outlines_of_examples_are_equal(name: str) -> None:
    torch, model = outlines(EXAMPLES / name)
    assert torch == model


@pytest.mark.parametrize("name", in_turn(list(DIFFERENT), 2))
def test_outlines_differ_for_the_listed_reasons(name: str) -> None:
    torch, model = outlines(EXAMPLES / name)
    assert torch != model, "remove it from the list"


MODEL = """import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
        self.w = torch.nn.Parameter(torch.ones(2, 2))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        for layer in self.layers:
            h = layer(x)
            x = h.relu()
        halves = [half.exp() for half in x.unbind(0)]
        stacked = torch.stack(halves)
        return stacked @ self.w.T * self.scale
"""
TRAIN = """import torch
from model import Net
net = Net()
data = torch.ones(2, 2)
z, scaled = net(data), net.w * 2
squares = [torch.square(p) for p in net.parameters()]
"""


def test_variables_of_imported_modules_have_names(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN)
    trace = recorded(tmp_path / "train.py", "torch")
    given: dict[tuple[str, int], set[str]] = {}
    for event in (event for event in trace if isinstance(event, ev.KeySetComputed)):
        step, line = event.seq, source_line(trace, event.seq)
        if line is not None and sum(isinstance(around, ev.Dispatched) for around in trace.ancestors(step)) == 1:
            names = {tensor_name(trace, tensor, step).partition(" (")[0] for _, tensor, _ in event.arguments}
            given.setdefault((Path(line.file).name, line.line), set()).update(names)
    assert {"h"} <= given["model.py", 13]
    assert {"x", "half"} <= given["model.py", 14]
    assert {"stacked", "net.w", "net.scale"} <= given["model.py", 16]
    assert {"net.w"} <= given["train.py", 5]
    assert {"net.w", "layers.0.weight", "layers.1.bias"} <= given["train.py", 6]
    modules = [event.name for event in trace if isinstance(event, ev.ModuleCalled)]
    assert modules == ["net", "net.layers.0", "net.layers.1"]
