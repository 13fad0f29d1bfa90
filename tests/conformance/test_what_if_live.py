"""The what-if command, compared with a real PyTorch: the same change of the same program has the same consequence."""

from __future__ import annotations

import ast
import io
import warnings
from contextlib import redirect_stdout

import pytest

from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changes import read_change
from dispatchviz.running.program import run

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)
z = torch.mm(x, y)
print(z.dtype, z.device, z.requires_grad, z.is_inference(), type(z.grad_fn).__name__)
w = torch.add(z, y)
print(w.dtype, w.requires_grad, type(w.grad_fn).__name__)
w.sum().backward()
print(x.grad, y.grad)
"""

CHANGES = (
    *("4: no_grad", "4: enable_grad", "4: inference_mode", "4: autocast cpu", "4: autocast cpu float16"),
    *("4: requires_grad y", "4: requires_grad x off", "4: dtype float64 x", "4: dtype float64 x y", "4: dtype int64 x"),
    *("6: requires_grad z off", "6: dtype float64 y", "8: no_grad", "8: skip", "4: skip", "2: inference_mode"),
    *("2: no_grad", "4: device cpu x", "6: fallthrough AutogradCPU add", "6: register CPU add"),
)


def output_of_model(change: str) -> str:
    """Return the output of the changed program on the model, and the error that ends it."""
    output = io.StringIO()
    outcome = run("-", (), output, PROGRAM.encode(), changed=lambda tree: changed_program(tree, [read_change(change)]))
    return output.getvalue() + _error_text(outcome.error)


def output_of_pytorch(program: ast.Module) -> str:
    """Return the same for the installed PyTorch."""
    output, error = io.StringIO(), None
    with redirect_stdout(output):
        try:
            exec(compile(program, "<changed>", "exec"), {"__name__": "__main__"})
        except Exception as raised:
            error = raised
    return output.getvalue() + _error_text(error)


def _error_text(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_line_has_the_same_consequence(change: str) -> None:
    program = changed_program(ast.parse(PROGRAM), [read_change(change)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is overridden
        assert output_of_model(change) == output_of_pytorch(program)
