"""Tests of the first step: error, silent mistake, warning, missing gradient, mode, Function or level, first Node."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.explain.diagnosis.mistakes import mistakes
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.lookups import uses_cuda
from dispatchviz.outputs.page.player_data import player_data
from dispatchviz.tui.app import StepperApp
from dispatchviz.views.session import Session
from tests.explain.diagnosis.cases import traced
from tests.tui.programs import forum
from tests.tui.screens import stepper

LEAF = "import torch\nx = torch.ones(2, requires_grad=True)\n"
FUNCTION = (
    "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
)
DATA = "y = x.exp()\ny.data.mul_(2)\ny.sum().backward()\n"
UNUSED = (
    "net = torch.nn.Linear(2, 2)\nnet.register_parameter('extra', torch.nn.Parameter(torch.ones(1)))\n"
    "net(x).sum().backward()\n"
)
WARNS = "import warnings\nwarnings.simplefilter('always')\nwarnings.warn('look here')\n"

OPENS = {
    "an error before all": (LEAF + WARNS + "y = x.exp()\nraise ValueError\n", ev.ProgramRaised, 7),
    "a silent mistake before a warning": (LEAF + WARNS + DATA, ev.Dispatched, 7),
    "a warning before a missing gradient": (LEAF + UNUSED + WARNS, ev.Warned, 8),
    "a missing gradient before a mode": (
        LEAF + "with torch.autocast('cpu'):\n    x.exp()\n" + UNUSED,
        ev.BackwardStarted,
        7,
    ),
    "autocast": (
        LEAF + "y = x * 2\nwith torch.autocast('cpu'):\n    y = torch.mm(x[None], x[:, None])\n",
        ev.AutocastChanged,
        4,
    ),
    "inference mode": (LEAF + "y = x * 2\nwith torch.inference_mode():\n    x * 2\n", ev.InferenceModeChanged, 4),
    "vmap": (LEAF + "y = x * 2\nz = torch.func.vmap(torch.sin)(y)\n", ev.DynamicLayerPushed, 4),
    "a custom Function": (LEAF + FUNCTION + "y = x + 1\nTwice.apply(y).sum().backward()\n", ev.FunctionEntered, 11),
    "the first Node": (LEAF + "z = torch.ones(2) * 2\ny = x * 2\n", ev.Dispatched, 4),
    "the first Node although grad mode is off later": (
        LEAF + "y = x * 2\nwith torch.no_grad():\n    y * 2\n",
        ev.Dispatched,
        3,
    ),
    "grad mode where there is no Node": (LEAF + "with torch.no_grad():\n    y = x * 2\n", ev.GradModeChanged, 3),
    "the first line that calls an operator": ("import torch\ny = torch.ones(2)\nz = y * 2\n", ev.SourceLine, 2),
    "the first step": ("x = 1\n", ev.SourceLine, 1),
}


def opened(trace: Trace, step: int | None = None) -> int:
    """The step of a session after the search for mistakes."""
    return Session(trace, step).at_first_mistake().at


@pytest.mark.parametrize("name", OPENS)
def test_stepper_opens_at_the_most_important_step(name: str) -> None:
    source, kind, number = OPENS[name]
    trace = traced(source)
    at = opened(trace)
    line = source_line(trace, at)
    assert isinstance(trace[at], kind)
    assert line is None or line.line == number


@pytest.mark.parametrize("name", OPENS)
def test_page_opens_at_the_same_step(name: str) -> None:
    trace = traced(OPENS[name][0])
    assert player_data(trace)["first"] == opened(trace)


def test_requested_step_is_kept() -> None:
    trace = traced(LEAF + DATA)
    assert opened(trace, 5) == 5
    mistakes(trace)
    assert Session(trace, 5).cursor.at == 5


async def test_first_screen_answers_the_forum_question() -> None:
    async with stepper(forum(), (100, 30), level=DEFAULT) as reader:
        screen = reader.screen
    lines = "\n".join(screen)
    assert "Line 6 creates the first Node, AddBackward0. AutogradCUDA is the highest key left, so it wins" in lines
    assert "and y are CUDA tensors" in lines
    here = next(row for row in screen if row.startswith("▶"))
    assert "add.Tensor → AutogradCUDA" in here
    assert "AutogradCUDA wins  call of aten::add.Tensor" in lines
    assert "= left" in lines


async def test_opening_at_a_mode_mentions_no_node_of_another_line() -> None:
    async with stepper(traced(OPENS["vmap"][0]), (100, 30), level=DEFAULT) as reader:
        lines = "\n".join(reader.screen)
    assert "A transform begins: the vmap of level 1" in lines
    assert "creates the first Node" not in lines


LOOP = """\
import torch
w = torch.ones(2, requires_grad=True)
for i in range({iterations}):
    loss = (w * i).sum()
    loss.backward()
"""


async def test_long_file_opens_with_no_more_blocks_than_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = [await _decoded_blocks(tmp_path, iterations, monkeypatch) for iterations in (30, 300)]
    assert 0 < len(long) <= len(short)


async def _decoded_blocks(folder: Path, iterations: int, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The blocks of a file that are decoded until the first screen is painted."""
    traced(LOOP.format(iterations=iterations)).save(folder / "loop.dvtrace")
    trace, found = Trace.load(folder / "loop.dvtrace"), set[int]()
    assert isinstance(trace.events, StoredEvents)
    decode = StoredEvents._read

    def decoding(events: StoredEvents, block: int) -> tuple[bytes, bool]:
        found.add(block)
        return decode(events, block)

    monkeypatch.setattr("dispatchviz.explain.diagnosis.mistakes.MOST", 0)  # as if both were too long to search
    monkeypatch.setattr(StoredEvents, "_read", decoding)
    async with StepperApp(Session(trace, 0)).run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        monkeypatch.undo()
    return found


def test_cuda_is_found_in_the_calls(tmp_path: Path) -> None:
    for device, found in (("'cuda'", True), ("'cpu'", False)):
        trace = traced(f"import torch\nx = torch.ones(2, device={device})\n")
        without_sources = Trace(replace(trace.header, sources={}), list(trace))
        assert uses_cuda(without_sources) is found
