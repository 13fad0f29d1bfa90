"""The generated code of a step's operator, opened from the stepper."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record.events import KeySetComputed
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.codegen.operator_at_step import operator_at
from dispatchviz.running.program import run
from dispatchviz.testing import call, node_ran
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from tests.steps import line, step

from .screens import Reader, read

PROGRAM = """\
import torch
x = torch.ones(2, 2, requires_grad=True)
z = torch.add(x, 1)
lib = torch.library.Library("mine", "DEF")
lib.define("nothing(Tensor x) -> Tensor")
lib.impl("nothing", lambda x: x.clone(), "CompositeImplicitAutograd")
torch.ops.mine.nothing(x)
z.sum().backward()
"""


def trace_of(folder: Path) -> Trace:
    (folder / "program.py").write_text(PROGRAM)
    return run(str(folder / "program.py")).trace


def test_a_step_has_an_operator(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)
    add = step(trace, call("aten::add.Tensor"))
    assert operator_at(trace, add) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, KeySetComputed, within=add)) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, node_ran("AddBackward0"))) == "aten::add.Tensor"
    assert operator_at(trace, step(trace, node_ran("SumBackward0"))) == "aten::sum"
    assert operator_at(trace, line(trace, 3)) == "aten::add.Tensor"  # of the first call that comes of it
    assert operator_at(trace, line(trace, 1)) == ""  # import torch


def test_v_opens_the_code_of_the_step_and_closes_it(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)

    async def story(reader: Reader) -> None:
        await reader.press("v")
        assert reader.sees("Generated code of aten::add.Tensor", "structured_delegate: add.out")
        await reader.press("G")
        assert reader.sees("RegisterSparseCsrCPU_0.cpp:391")
        await reader.press("f")
        assert reader.sees("torchgen's files for aten::add.Tensor", "THPVariable_add: the function that Python calls")
        await reader.press("enter")
        assert reader.sees("python_torch_functions_2.cpp: PyTorch 2.13.0 for aten::add.Tensor", "HANDLE_TH_ERRORS")
        await reader.press("q", "q")
        assert reader.sees("Generated code of aten::add.Tensor", "(f files, K classes, Esc or q closes)")
        await reader.press("K")
        assert reader.sees("Structured kernel of add.Tensor, add_.Tensor, add.out", "└ at::TensorIteratorBase")
        await reader.press("G")
        assert reader.sees("at::namedinference::propagate_names")
        await reader.press("q")
        assert reader.sees("Generated code of aten::add.Tensor")
        await reader.press("q")
        assert reader.sees("aten::add.Tensor", "Steps")
        assert not reader.sees("Generated code")

    read(trace, story, step=step(trace, call("aten::add.Tensor")))


def test_a_step_without_an_operator_says_so(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)

    async def story(reader: Reader) -> None:
        await reader.press("v")
        assert reader.sees("No operator runs at this step")

    read(trace, story, step=0)


def test_an_operator_of_the_program_was_not_generated(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)

    async def story(reader: Reader) -> None:
        await reader.press("v")
        assert reader.sees("mine::nothing is not PyTorch's")

    read(trace, story, step=step(trace, call("mine::nothing")))


def test_marks_become_roles() -> None:
    console = MarkedConsole(80)
    text = f"a {console.styled('b', 'cyan', 'bold')} [c] {console.styled('d')}"
    assert [span for span in spans(text) if span[0]] == [("a ", ""), ("b", "code.keyword"), (" [c] d", "")]
