"""The magics in IPython's own shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace
from tests.steps import steps

pytest.importorskip("IPython")
pytestmark = pytest.mark.filterwarnings("ignore")

CELL = """\
%%dispatchviz first
import torch
x = torch.ones(2, requires_grad=True)
(x * 3).sum().backward()
x.grad.tolist()
"""


class Notebook:
    """A shell, and its output."""

    def __init__(self, shell: Any, capture: pytest.CaptureFixture[str]) -> None:
        self.shell = shell
        self.shown: list[dict[str, Any]] = []
        self._capture = capture
        shell.display_pub.publish = lambda data, *rest, **more: self.shown.append(data)

    def run(self, text: str) -> Any:
        """Run a cell and return its result."""
        self.shown.clear()
        return self.shell.run_cell(text, store_history=True)

    @property
    def printed(self) -> str:
        """The output since the last time it was read."""
        out, err = self._capture.readouterr()
        return str(out + err)


@pytest.fixture
def notebook(capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A shell without history and colors."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    shell.run_cell("%load_ext dispatchviz", store_history=True)
    yield Notebook(shell, capsys)
    InteractiveShell.clear_instance()


def test_a_cell_is_run_and_its_trace_shown_and_named(notebook: Notebook) -> None:
    done = notebook.run(CELL)
    assert done.success
    assert "[3.0, 3.0]" in notebook.printed
    trace = notebook.shell.user_ns["first"]
    assert isinstance(trace, Trace)
    assert steps(trace, ev.BackwardStarted)
    assert trace.header.program == "Cell In[2]"
    (data,) = notebook.shown
    assert {"text/plain", "text/html", "text/markdown", "image/svg+xml"} <= set(data)
    assert repr(trace) == data["text/plain"]


def test_options_change_the_output(notebook: Notebook) -> None:
    notebook.run("%%dispatchviz --quiet\nimport torch\n")
    assert notebook.shown == []
    notebook.run("%%dispatchviz --no-picture --level lines\nx = torch.ones(1, requires_grad=True) * 2\n")
    (data,) = notebook.shown
    assert "image/svg+xml" not in data
    assert "call aten" not in data["text/html"]


@pytest.mark.parametrize("line", ["--engine moon", "--levels 3", "a b", "3x", "'"])
def test_unknown_words_are_one_line(notebook: Notebook, line: str) -> None:
    notebook.run(f"%%dispatchviz {line}\nran = True\n")
    assert "UsageError" in notebook.printed
    assert "ran" not in notebook.shell.user_ns


def test_an_error_is_shown_with_the_frames_of_the_cell(notebook: Notebook) -> None:
    done = notebook.run("%%dispatchviz\nimport torch\ndef f(a):\n    return a.reshape(7)\nf(torch.ones(2))\n")
    assert isinstance(done.error_in_exec, RuntimeError)
    printed = notebook.printed
    assert "----> 5 f(torch.ones(2))" in printed
    assert "----> 4     return a.reshape(7)" in printed
    assert "Cell In[2]" in printed
    assert "dispatchviz/notebook" not in printed
    assert "run_cell_magic" not in printed
    assert len(notebook.shown) == 1, "the trace up to there is shown too"


def test_a_syntax_error_is_that_of_the_cell(notebook: Notebook) -> None:
    done = notebook.run("%%dispatchviz\nif:\n    pass\n")
    assert not done.success
    printed = notebook.printed
    assert "SyntaxError: invalid syntax" in printed
    assert "line 2" in printed
    assert "run_cell_magic" not in printed


def test_magics_within_a_cell(notebook: Notebook) -> None:
    notebook.run("%%dispatchviz t\n%precision 3\nx = 1\n")
    trace = notebook.shell.user_ns["t"]
    lines = [trace[at].line for at in steps(trace, ev.SourceLine)]
    assert lines == [2, 3]


def test_key_sets_are_tables(notebook: Notebook) -> None:
    notebook.run(CELL)
    formatted, _ = notebook.shell.display_formatter.format(
        __import__("dispatchviz.torch").torch._C._dispatch_keys(notebook.shell.user_ns["x"])
    )
    assert "<table>" in formatted["text/html"]
    assert formatted["text/plain"].startswith("DispatchKeySet(")


def test_the_line_magic_looks_up(notebook: Notebook) -> None:
    done = notebook.run("%dispatchviz why add.Tensor AutogradCUDA")
    assert "VariableType::add_Tensor" in repr(done.result)
    assert done.result._repr_html_().startswith("<pre")
    notebook.run("%dispatchviz moon")
    assert "UsageError: %dispatchviz needs one of table, why, keys, codegen" in notebook.printed


def test_unloading_removes_the_magics(notebook: Notebook) -> None:
    notebook.run("%unload_ext dispatchviz")
    notebook.run(CELL)
    assert "Cell magic `%%dispatchviz` not found" in notebook.printed
    notebook.run("%load_ext dispatchviz")
    assert notebook.run(CELL).success
