"""A script on the model runs as ``python script`` would run it, and everything that it does is in the trace."""

from __future__ import annotations

import io
import os
import sys
import types
from pathlib import Path
from textwrap import dedent

import pytest

from dispatchviz.core.record.events import (
    BackwardFinished,
    BindingEntered,
    Dispatched,
    ErrorRaised,
    NameBound,
    Printed,
    ProgramRaised,
    SourceLine,
)
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.seam import recorder
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.program import Outcome, run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(program: str, *args: str) -> Outcome:
    Path("p.py").write_text(dedent(program).lstrip("\n"))
    return run("p.py", args, io.StringIO())


def _lines(trace: Trace) -> list[tuple[str, int]]:
    return [(event.file, event.line) for event in trace if isinstance(event, SourceLine)]


def _printed(trace: Trace) -> str:
    return "".join(event.text for event in trace if isinstance(event, Printed))


def test_it_is_the_main_program_with_its_arguments() -> None:
    outcome = _run(
        """
        import sys, os
        print(__name__, sys.argv, os.path.isabs(__file__), sys.path[0] == os.path.dirname(__file__))
        print(sys.modules["__main__"].__dict__ is globals(), sorted(globals()))
        """,
        "-a",
        "b",
    )
    first, second = _printed(outcome.trace).splitlines()
    assert first == "__main__ ['p.py', '-a', 'b'] True True"
    dunder = ["__annotations__"] if sys.version_info < (3, 14) else []
    dunder += ["__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"]
    assert second == f"True {[*dunder, 'os', 'sys']}"


def test_the_interpreter_is_left_as_it_was_found() -> None:
    before = sys.argv, sys.path[:], sys.modules["__main__"], sys.stdout, sys.meta_path[:]
    real = sys.modules["torch"] = types.ModuleType("torch")
    Path("mine.py").write_text("import torch\n")
    try:
        _run("import torch, mine, sys\nsys.path.append('x')\nsys.argv.clear()\nraise KeyError(1)\n")
        assert sys.modules["torch"] is real
    finally:
        del sys.modules["torch"]
    assert (sys.argv, sys.path, sys.modules["__main__"], sys.stdout, sys.meta_path) == before
    assert not {"mine", "torch"} & set(sys.modules)
    assert recorder.active is None


def test_import_torch_is_the_model_everywhere() -> None:
    Path("helper.py").write_text("import torch\nTensor = torch.Tensor\n")
    outcome = _run(
        """
        import torch, torch.autograd
        from torch import autograd
        import helper, dispatchviz.torch
        assert torch is dispatchviz.torch and helper.Tensor is torch.Tensor and torch.autograd is autograd
        assert torch.autograd.__spec__.name == "dispatchviz.torch.autograd"
        """
    )
    assert outcome.error_message == ""


def test_a_part_that_the_model_lacks_raises() -> None:
    outcome = _run("import torch.onnx\n")
    assert outcome.error_message == (
        "p.py, line 1: ModuleNotFoundError: No module named 'torch.onnx': "
        "it is not in dispatchviz's model of PyTorch 2.14.1; an installed PyTorch may have it: --engine torch records "
        "the program there"
    )


def test_lines_names_and_calls_are_recorded_in_order() -> None:
    trace = _run(
        """
        import torch
        x = torch.ones(2)
        y = (x +
             x)
        """
    ).trace
    recorded = [event for event in trace if isinstance(event, SourceLine | NameBound | BindingEntered)]
    words = [
        event.line if isinstance(event, SourceLine) else event.name if isinstance(event, NameBound) else event.function
        for event in recorded
    ]
    assert words == [1, 2, "torch.ones", "x", 3, "Tensor.__add__", "y"]
    assert all(event.parent is None for event in recorded if isinstance(event, SourceLine))


def test_after_a_function_the_callers_line_is_recorded_again() -> None:
    trace = _run(
        """
        import torch
        def twice(t):
            return t + t
        z = twice(torch.ones(2)).sum(
        )
        """
    ).trace
    assert _lines(trace) == [("p.py", 1), ("p.py", 2), ("p.py", 4), ("p.py", 3), ("p.py", 4)]


def test_lines_of_a_module_that_the_script_imports_are_recorded_where_they_dispatch() -> None:
    Path("helper.py").write_text("import torch\n\ndef f(a):\n    b = a * 2\n    return b + 1\n")
    trace = _run("import torch\nimport helper\nc = helper.f(torch.ones(2))\n").trace
    assert _lines(trace) == [("p.py", 1), ("p.py", 2), ("p.py", 3), ("helper.py", 4), ("helper.py", 5), ("p.py", 3)]
    assert sorted(trace.header.sources) == ["helper.py", "p.py"]
    assert [event.name for event in trace if isinstance(event, NameBound)] == ["a", "b", "c"]


def test_a_tensor_keeps_its_first_name_as_long_as_it_is_its_own() -> None:
    trace = _run(
        """
        import torch
        x = torch.ones(2)
        h = x
        for i in range(2):
            h = h + 1
        x = None
        """
    ).trace
    names = [(event.name, event.tensor) for event in trace if isinstance(event, NameBound)]
    first, second, third = dict.fromkeys(tensor for _, tensor in names)
    assert names == [("x", first), ("h", second), ("h", third)]


def test_a_tensor_whose_name_went_away_is_recorded_under_another() -> None:
    trace = _run("import torch\nx = torch.ones(2)\nh = x\nx = torch.ones(3)\n").trace
    names = [(event.name, event.tensor) for event in trace if isinstance(event, NameBound)]
    old, new = names[0][1], names[1][1]
    assert names == [("x", old), ("x", new), ("h", old)]


def test_output_is_passed_on_and_recorded_where_it_happened() -> None:
    output = io.StringIO()
    Path("p.py").write_text(
        "import sys\nprint('a', end=' ')\nprint('b\\nc')\nsys.stdout.write('d')\n" + "print(sys.stdout.isatty())"
    )
    trace = run("p.py", (), output).trace
    assert output.getvalue() == "a b\nc\ndFalse\n"
    recorded = [(trace[event.parent].line, event.text) for event in trace if isinstance(event, Printed)]
    assert recorded == [(2, "a "), (3, "b\nc\n"), (4, "d"), (5, "False\n")]


def test_an_exception_ends_the_trace() -> None:
    outcome = _run(
        """
        import torch
        def f(x):
            x.add_(1)
        f(torch.zeros(2, requires_grad=True))
        """
    )
    text = "a leaf Variable that requires grad is being used in an in-place operation."
    assert outcome.status == 1
    assert outcome.error_message == f"p.py, line 3: RuntimeError: {text}"
    assert [event.message for event in outcome.trace if isinstance(event, ErrorRaised)] == [text]
    last = outcome.trace[-1]
    assert isinstance(last, ProgramRaised)
    assert (last.exception, last.message, last.file, last.line) == ("RuntimeError", text, "p.py", 3)


def test_ctrl_c_keeps_what_was_recorded() -> None:
    outcome = _run("import torch\nx = torch.ones(2)\nraise KeyboardInterrupt\n")
    assert (outcome.status, outcome.error_message) == (130, "p.py, line 3: interrupted")
    assert any(isinstance(event, Dispatched) for event in outcome.trace)


@pytest.mark.parametrize(("code", "status"), [("", 0), ("0", 0), ("3", 3), ("None", 0), ("'bad luck'", 1)])
def test_sys_exit_is_honoured(code: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = _run(f"import sys\nsys.exit({code})\n")
    assert (outcome.status, outcome.error) == (status, None)
    assert not isinstance(outcome.trace[-1], ProgramRaised)
    assert capsys.readouterr().err == ("bad luck\n" if "luck" in code else "")


def test_unreadable_program_is_one_clear_error() -> None:
    Path("latin.py").write_bytes(b"x = '\xe9'\n")
    for file, says in {"nope.py": "cannot read nope.py", "latin.py": "not text in its encoding"}.items():
        with pytest.raises(DispatchvizError, match=says):
            run(file)
    assert recorder.active is None


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in", "ignore:[\n]+Previous calculation")
@pytest.mark.filterwarnings("ignore:demo..double. an autograd kernel was not registered")  # what that example shows
@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs_and_gives_the_same_trace_again(example: Path, tmp_path: Path) -> None:
    os.chdir(EXAMPLES.parent)
    saved = []
    for name in ("a.jsonl", "b.jsonl"):
        outcome = run(f"examples/{example.name}", (), io.StringIO())
        outcome.trace.save(tmp_path / name)
        saved.append((tmp_path / name).read_bytes())
    assert saved[0] == saved[1]
    raises = ("in_place_on_leaf", "inplace_error", "anomaly")
    assert (outcome.status == 1) is (example.stem in raises), outcome.error_message
    assert (
        any(isinstance(event, BackwardFinished | ErrorRaised) for event in outcome.trace) or "no_grad" in example.stem
    )


def test_a_program_may_have_a_window_of_its_own_into_it() -> None:
    outcome = _run("import dispatchviz\nwith dispatchviz.record(): pass\n")
    assert "a recording is already running" in outcome.error_message


MODULE = """\
import torch

def positive(x):
    y = x > 0
    if y:
        return torch.ops.aten.neg(x)

class Doubling(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        self.param_groups[0]["params"][0].mul_(2)
"""


def test_calls_of_a_users_module_without_a_binding_have_its_line() -> None:
    Path("helper.py").write_text(MODULE)
    trace = _run("""
        import torch
        import helper
        helper.positive(torch.ones(1))
        doubling = helper.Doubling([torch.ones(2)], {})
        doubling.step()
    """).trace
    calls = [event for event in trace if isinstance(event, Dispatched) and event.how.startswith("call")]
    found = {event.operator: [line.line for line in user_stack(trace, event.seq)] for event in calls}
    assert found["aten::is_nonzero"] == [3, 5]
    assert found["aten::neg"] == [3, 6]
    assert found["aten::mul_.Tensor"] == [5, 11]
    assert found["profiler::_record_function_exit._RecordFunction"] == [5]


def test_the_callers_of_a_function_are_known_with_their_files(tmp_path: Path) -> None:
    Path("helper.py").write_text("def outer(a):\n    return inner(a)\n\ndef inner(a):\n    b = a * 2\n    return b\n")
    trace = _run("import torch, helper\nx = torch.ones(2)\n\nhelper.outer(\n    x).sum()\n").trace
    found = next(event for event in trace if isinstance(event, BindingEntered) and event.function == "Tensor.__mul__")
    stack = [(line.file, line.function, line.line) for line in user_stack(trace, found.seq)]
    assert stack == [("p.py", "", 4), ("helper.py", "outer", 2), ("helper.py", "inner", 5)]
    frames = [(frame.title, frame.file) for frame in call_stack(trace, found.seq)]
    assert frames[:3] == [
        ("helper.outer(", "p.py:4"),
        ("outer: return inner(a)", "helper.py:2"),
        ("inner: b = a * 2", "helper.py:5"),
    ]
    after = next(event for event in trace if isinstance(event, BindingEntered) and event.function == "Tensor.sum")
    assert [line.line for line in user_stack(trace, after.seq)] == [4]


def test_a_backward_belongs_to_the_line_that_calls_it() -> None:
    trace = _run(
        """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                y = x * 2
                return y.sum()
        Net()(torch.ones(2, requires_grad=True)).backward()
        """
    ).trace
    backward = next(event for event in trace if isinstance(event, BackwardFinished))
    assert [(line.function, line.line) for line in user_stack(trace, backward.seq)] == [("", 6)]


@pytest.mark.parametrize("expression", ["+".join(["1"] * 2_000), "+".join(["abs(1)"] * 2_000)])
def test_an_expression_may_be_as_deep_as_python_takes_it(expression: str) -> None:
    limit = sys.getrecursionlimit()
    outcome = _run(f"import sys\nx = {expression}\nprint(x, sys.getrecursionlimit())")
    assert [event.text for event in outcome.trace if isinstance(event, Printed)] == [f"2000 {limit}\n"]


def test_too_deeply_nested_program_is_one_line_of_error() -> None:
    with pytest.raises(DispatchvizError, match=r"p\.py is nested too deeply for Python"):
        _run(f"x = {'-' * 200_000}1")


def test_finalizers_are_not_recorded_and_atexit_functions_are() -> None:
    outcome = _run(
        """
        import atexit, weakref
        import torch
        class Thing: pass
        thing = Thing()
        weakref.finalize(thing, lambda: (torch.ones(2).neg(), open("done", "w").close()))
        atexit.register(lambda: torch.ones(2).exp())
        """
    )
    called = [event.operator for event in outcome.trace if isinstance(event, Dispatched)]
    assert Path("done").exists()
    assert "aten::exp" in called
    assert "aten::neg" not in called
