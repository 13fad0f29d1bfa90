"""Calls of modules: an event around each, with the path and the class, on the model and on an installed PyTorch."""

from __future__ import annotations

import textwrap

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running import call_sites
from tests.explain.diagnosis.cases import traced

START = """
import torch
from torch import nn
x = torch.ones(2, 4)
"""

PROGRAMS = {
    "a model of layers": (
        "net = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Dropout()))\nnet(x)",
        ["net Sequential", "net.0 Linear", "net.1 Sequential", "net.1.0 ReLU", "net.1.1 Dropout"],
    ),
    "classes of the program": (
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
            def forward(self, x):
                return self.fc(x) + x
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(), Block()])
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        net = Net()
        net(x)
        """,
        [
            *("net Net", "net.blocks.0 Block", "net.blocks.0.fc Linear"),
            *("net.blocks.1 Block", "net.blocks.1.fc Linear"),
        ],
    ),
    "a layer that calls layers of its own": (
        "layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)\nlayer(x[None])",
        [
            "layer TransformerEncoderLayer",
            *(f"layer.{part}" for part in ["self_attn MultiheadAttention", "dropout1 Dropout", "norm1 LayerNorm"]),
            *(f"layer.{part}" for part in ["linear1 Linear", "dropout Dropout", "linear2 Linear"]),
            *(f"layer.{part}" for part in ["dropout2 Dropout", "norm2 LayerNorm"]),
        ],
    ),
    "modules that no variable holds": (
        "nn.Sequential(nn.Linear(4, 1), nn.Tanh())(x)",
        [" Sequential", " Linear", " Tanh"],
    ),
    "modules in a list and in a dictionary": (
        "layers = [nn.Linear(4, 4), nn.Tanh()]\nheads = {'a': nn.Linear(4, 1)}\nheads['a'](layers[1](layers[0](x)))",
        ["layers[0] Linear", "layers[1] Tanh", "heads['a'] Linear"],
    ),
    "a layer that replaces another": (
        "net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\nnet[1] = nn.Tanh()\nnet(x)",
        ["net Sequential", "net.0 Linear", "net.1 Tanh"],
    ),
    "one layer at two places": (
        "layer = nn.Tanh()\nnet = nn.Sequential(layer, nn.ReLU(), layer)\nnet(x)",
        ["net Sequential", "net.0 Tanh", "net.1 ReLU", "net.0 Tanh"],
    ),
    "forward without a call": ("layer = nn.Linear(4, 1)\nlayer.forward(x)", []),
    "an error inside": (
        "net = nn.Sequential(nn.ReLU(), nn.Linear(5, 1))\ntry:\n    net(x)\nexcept RuntimeError:\n    pass\nnet[0](x)",
        ["net Sequential", "net.0 ReLU", "net.1 Linear", "net.0 ReLU"],
    ),
}


@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
@pytest.mark.parametrize(("source", "called"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_call_of_a_module_has_its_path_and_its_class(source: str, called: list[str], engine: str) -> None:
    trace = traced(START + textwrap.dedent(source), engine)
    assert [f"{event.name} {event.kind}" for event in _modules(trace)] == called
    assert all(_is_sound(trace, event) for event in _modules(trace))


@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
def test_hooks_of_a_module_run_within_its_call(engine: str) -> None:
    source = START + textwrap.dedent(
        """
        layer = nn.Linear(4, 1)
        layer.register_forward_pre_hook(lambda module, args: (args[0].exp(),))
        layer.register_forward_hook(lambda module, args, result: result.cos())
        layer(x)
        y = x.sin()
        """
    )
    trace = traced(source, engine)
    (module,) = _modules(trace)
    within = [trace[step].operator for step in range(module.seq, trace.ends[module.seq]) if _is_call(trace, step)]
    hooks_and_forward = ["aten::exp", "aten::linear", "aten::cos"]
    assert list(dict.fromkeys(each for each in within if each in hooks_and_forward)) == hooks_and_forward
    assert "aten::sin" not in within


@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
def test_the_line_after_an_error_in_a_module_is_outside_of_it(engine: str) -> None:
    trace = traced(START + "layer = nn.Linear(5, 1)\ntry:\n    layer(x)\nexcept RuntimeError:\n    x.sin()\n", engine)
    sine = next(step for step in trace.steps_of(ev.Dispatched) if trace[step].operator == "aten::sin")
    assert not [event for event in trace.ancestors(sine) if isinstance(event, ev.ModuleCalled)]


@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
def test_an_error_that_ends_the_program_stays_on_its_line_in_the_module(engine: str) -> None:
    source = START + textwrap.dedent(
        """
        class Inner(nn.Module):
            def forward(self, x):
                x.sin()
                raise KeyError("inside")
        net = nn.Sequential(nn.Sequential(Inner()))
        net(x)
        """
    )
    trace = traced(source, engine)
    raised = trace[len(trace) - 1]
    line, *around = trace.ancestors(raised.seq)
    assert isinstance(line, ev.SourceLine)
    assert trace.header.sources[line.file].splitlines()[line.line - 1].strip() == 'raise KeyError("inside")'
    assert [event.name for event in around if isinstance(event, ev.ModuleCalled)] == ["net.0.0", "net.0", "net"]


def _modules(trace: Trace) -> list[ev.ModuleCalled]:
    return [event for event in trace if isinstance(event, ev.ModuleCalled)]


def _is_call(trace: Trace, step: int) -> bool:
    return isinstance(trace[step], ev.Dispatched)


def _is_sound(trace: Trace, event: ev.ModuleCalled) -> bool:
    """Return whether a call of a module is on a line of the program."""
    return any(isinstance(around, ev.SourceLine) for around in trace.ancestors(event.seq))


def frames_looked_at(depth: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Record a call of nested modules, and return the number of frames whose file was asked for."""
    files = []
    is_users_file = call_sites.is_users_file
    monkeypatch.setattr(call_sites, "is_users_file", lambda file: bool(files.append(file)) or is_users_file(file))
    traced(f"{START}net = nn.Tanh()\nfor _ in range({depth}):\n    net = nn.Sequential(net)\nnet(x)\n")
    return len(files)


def test_a_call_of_a_module_does_not_look_at_the_frames_of_all_modules_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ten, twenty, thirty = (frames_looked_at(depth, monkeypatch) for depth in (10, 20, 30))
    assert thirty - twenty == twenty - ten > 0
