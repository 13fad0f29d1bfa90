"""``--engine auto`` with an installed PyTorch: a program, a block of ``record()``, a cell of a notebook."""

from __future__ import annotations

import ast
import importlib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dispatchviz.torch as model
from dispatchviz import Trace
from dispatchviz.explain.trace_index.recorded_engine import why_chosen
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.notebook.cell import Cell
from dispatchviz.notebook.cell_engine import engine_of_cell
from dispatchviz.outputs.cell.trace_card import trace_markdown
from dispatchviz.outputs.page.player_data import player_data
from dispatchviz.running.engine_choice.choice import ON_MODEL, Choice
from dispatchviz.running.engine_choice.installed_release import installed_release
from dispatchviz.running.engine_choice.model_names import OF_WRITERS
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.screen_bars import header_rows
from tests.cli.command import dispatchviz, script
from tests.outputs.page.decoded import Decoded

pytestmark = pytest.mark.torch

SPARSE = "import torch\nx = torch.ones(2, 2)\nprint(torch.sparse.sum(x.to_sparse()).item())\n"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Trace]:
    """The end of a command, and its trace."""
    folder = tmp_path_factory.mktemp("automatic")
    done = dispatchviz("trace", "--level", "lines", "--save", "a.dvtrace", script(folder, SPARSE), cwd=folder)
    return done, Trace.load(folder / "a.dvtrace")


def reason(fact: str) -> str:
    installed = installed_release()
    assert installed is not None
    return f"{fact}; recorded on the installed PyTorch {installed.number}. --engine model insists"


def test_a_program_that_the_model_cannot_run_is_recorded_on_pytorch(ended: tuple[Any, Trace]) -> None:
    done, trace = ended
    assert (done.status, done.err) == (0, "4.0\n")
    assert trace.header.engine == "torch"
    lines = done.out.splitlines()
    assert lines[0].startswith(f"program.py on PyTorch {installed_torch().__version__} (installed, observed)")
    assert lines[1] == why_chosen(trace.header) == reason("torch.sparse.sum is not in the model (nor is 1 other name)")


def test_every_header_shows_the_reason(ended: tuple[Any, Trace]) -> None:
    trace = ended[1]
    told = why_chosen(trace.header)
    assert [row.plain.strip() for row in header_rows(Cursor(trace), 200)][-1] == told
    page = Decoded(player_data(trace))
    assert "".join(text for text, _ in page.row(page.data["engine"])[0]).endswith(f"; {told}")
    assert told in trace_markdown(trace)


def test_why_and_export_print_the_reason(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\ntorch.sparse\n")
    told = f"dispatchviz: {reason('torch.sparse is not in the model')}\n"
    done = dispatchviz("why", name, cwd=tmp_path)
    assert (done.status, done.err) == (0, told)


def test_the_release_is_read_from_the_files_of_pytorch() -> None:
    installed, torch = installed_release(), installed_torch()
    assert installed is not None
    assert torch.__version__.partition("+")[0] == installed.number
    assert installed.has_gpu == torch.cuda.is_available()


BLOCK = """
from dispatchviz import record
def f():
    with record() as trace:
        torch.ones(2)
    return trace.header.engine, len(trace) > 2
"""


def recorded_by(folder: Path, imports: str) -> tuple[str, bool]:
    """Return the engine that a block records, and whether it has steps."""
    name = f"block_{len(imports)}"
    script(folder, imports + BLOCK, f"{name}.py")
    module = ModuleType(name)
    SourceFileLoader(name, str(folder / f"{name}.py")).exec_module(module)
    return vars(module)["f"]()  # type: ignore[no-any-return]


def test_record_follows_the_torch_of_the_code_around_it(tmp_path: Path) -> None:
    assert recorded_by(tmp_path, "import torch") == ("torch", True)
    assert recorded_by(tmp_path, "import dispatchviz.torch as torch") == ("model", True)
    assert recorded_by(tmp_path, "import torch as real\nfrom dispatchviz import torch") == ("model", True)


def methods_of_writers(file: Path) -> set[str]:
    """Return the methods of the class ``SummaryWriter`` in a file."""
    classes = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef))
    body = next(each.body for each in classes if each.name == "SummaryWriter")
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_the_list_of_methods_of_writers_is_complete() -> None:
    own, real = (Path(str(torch.__file__)).parent for torch in (model, installed_torch()))
    lacking = methods_of_writers(real / "utils/tensorboard/writer.py") - methods_of_writers(
        own / "utils/tensorboard.py"
    )
    assert {name for name in lacking if name.startswith("add_")} == OF_WRITERS


CELLS = {
    "names that the model has": ("import torch\ntorch.ones(2)", ON_MODEL),
    "a tensor of the installed PyTorch": (
        "y = real * 2",
        Choice("torch", "real belongs to the installed PyTorch, so the cell was recorded there"),
    ),
    "a module of the installed PyTorch": (
        "layer(2)",
        Choice("torch", "layer belongs to the installed PyTorch, so the cell was recorded there"),
    ),
    "a tensor of the model": ("ours.sum()\ntorch.sparse", ON_MODEL),
    "a lacking name of a module in a variable": ("F.scaled_mm", "torch.nn.functional.scaled_mm is not in the model"),
    "a variable that the cell sets": ("real = 1", ON_MODEL),
    "no Python": ("def", ON_MODEL),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_stays_with_the_engine_of_its_tensors(name: str) -> None:
    torch = importlib.import_module("torch")
    text, expected = CELLS[name]
    variables = {
        "torch": torch,
        "F": torch.nn.functional,
        "real": torch.ones(2),
        "layer": torch.nn.ReLU(),
        "ours": model.ones(2),
    }
    found = engine_of_cell(None, Cell(text, "<cell>", "Cell In[1]"), variables)
    assert found == (Choice("torch", reason(expected)) if isinstance(expected, str) else expected)
