"""Tensors without a variable are named by one that is a step away, on the model and on an installed PyTorch."""

from __future__ import annotations

import io
import textwrap

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.trace_index.display_names import code_name, grad_name, numbered, tensor_name, with_names
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.trace import Trace
from dispatchviz.views.panes import key_set_pane, tensors_pane

ENGINES = ["model", pytest.param("torch", marks=pytest.mark.torch)]


def traced(source: str, engine: str) -> Trace:
    text = textwrap.dedent(source).strip() + "\n"
    return run(Code(text), output=io.StringIO(), engine=engine_named(engine)).trace


def names_at_end(trace: Trace) -> set[str]:
    """The names of all tensors."""
    return {tensor_name(trace, tensor, len(trace) - 1) for tensor in index(trace).tensors}


def names_when_made(trace: Trace) -> set[str]:
    made = (index(trace).tensors[tensor] for tensor in index(trace).tensors)
    return {tensor_name(trace, event.tensor, event.seq) for event in made}


NAMED = {
    "a method without a name before": ("x = torch.randn(2, requires_grad=True).double()", {"x before .double()"}),
    "its arguments": ("x = torch.ones(2).to(torch.int)", {"x before .to(torch.int)"}),
    "long arguments": ("x = torch.ones(2, 3).sum(dim=(0, 1), keepdim=True)", {"x before .sum(...)"}),
    "an operation": (
        "a = torch.ones(2)\nloss = (a - 1).pow(2).mean()", {"loss before .mean()", "loss before .pow(2).mean()"},
    ),
    "of three methods two": ("x = (torch.ones(2) * 2).exp().sin().cos()", {"x before .cos()", "x before .sin().cos()"}),
    "one that writes in place": ("x = torch.ones(2).double().mul_(3)", {"x before .double()"}),
    "one that only sets a flag": ("x = torch.ones(2).double().requires_grad_()", {"x before .double()"}),
    "in a function": ("def f(a):\n    b = (a + 1).exp()\n    return b\ny = f(torch.ones(2))", {"y before .exp()"}),
    "a transpose in a kernel": (
        "w, b = torch.ones(2, 3), torch.ones(2)\ny = torch.nn.functional.linear(torch.ones(1, 3), w, b)", {"w.T"},
    ),
    "an attribute": ("w = torch.ones(2, 3)\ny = torch.ones(1, 3) @ w.T", {"w.T"}),
    "exchanged dimensions": ("w = torch.ones(2, 3)\ny = torch.ones(1, 3) @ w.transpose(0, 1)", {"w.T"}),
}  # fmt: skip
NOT_NAMED = {
    "a variable has it": "a = torch.ones(2)\nx = a.double()",
    "torch is no tensor": "x = torch.add(torch.ones(2), 1)",
    "nothing is bound": "torch.ones(2).double()",
    "a path is bound": "class C: pass\nc = C()\nc.x = torch.ones(2).double()",
    "two are bound": "x, y = torch.ones(2).double(), 1",
    "two statements on a line": "x = torch.ones(2).double(); y = torch.ones(2).double()",
    "the method computes with another operator": "x = torch.ones(2, 2).norm()",
    "a part of a matrix": "w = torch.ones(3, 3)\ny = torch.ones(1, 2) @ w[:2].t()[:, :2].t()",
    "of a vector": "w = torch.ones(3)\ny = w.t() + 1",
    "of more dimensions": "w = torch.ones(2, 2, 2)\ny = w.transpose(0, 1) + 1",
    "exchanged twice": "w = torch.ones(2, 2)\ny = torch.ones(1, 2) @ w.t().t()",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NAMED)
def test_named_by_one_that_is_a_step_away(case: str, engine: str) -> None:
    source, wanted = NAMED[case]
    found = names_at_end(traced(f"import torch\n{source}\n", engine))
    assert wanted <= found, found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NOT_NAMED)
def test_unknown_tensor_keeps_its_number(case: str, engine: str) -> None:
    trace = traced(f"import torch\n{NOT_NAMED[case]}\n", engine)
    found = names_at_end(trace) | names_when_made(trace)
    twice = {"w.T"} if case == "exchanged twice" else set()  # the first transpose is one
    assert {name for name in found if " before " in name or name.endswith(".T")} <= twice, found


LOOP = """
import torch
w = torch.ones(3, requires_grad=True)
for i in range(3):
    loss = (w * i).sum()
done = loss
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_is_that_of_the_step(engine: str) -> None:
    trace = traced(LOOP, engine)
    bound = [event for event in trace if isinstance(event, ev.NameBound) and event.name == "loss"]
    factors = [each for each in index(trace).tensors if tensor_name(trace, each, bound[0].seq) == "loss before .sum()"]
    first = factors[0]
    made = index(trace).tensors[first].seq
    assert tensor_name(trace, first, made) == "loss before .sum()", "as of its own iteration"
    assert tensor_name(trace, first, bound[1].seq) == "loss@1 before .sum()", "as of a later one"
    assert numbered(trace, first, made) == f"loss before .sum() (t{first})"
    assert code_name(trace, first, made) == f"t{first}"
    assert with_names(trace, f"t{first}.sum()", made) == f"t{first}.sum()", "code shows no words"
    assert grad_name(trace, first, made) == "(loss before .sum()).grad"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_matrix_with_other_memory_is_not_transposed(engine: str) -> None:
    source = "import torch\nw = torch.ones(2, 3)\nfor i in range(2):\n    y = torch.ones(1, 3) @ w.t()\n{}"
    assert "w.T" in names_at_end(traced(source.format(""), engine))
    if engine == "model":  # an installed PyTorch does not report it
        assert "w.T" not in names_at_end(traced(source.format("w.data = torch.zeros(2, 3)"), engine))


LEAF = """
import torch
x = torch.randn(2, requires_grad=True).double()
x.sum().backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_and_sentences_have_the_name(engine: str) -> None:
    trace = traced(LEAF, engine)
    labels = [label(trace, seq) for seq in range(len(trace))]
    assert any(text.startswith("tensor x before .double() (t0)") for text in labels), "the number is there once"
    assert "AccumulateGrad (x before .double()) belongs to x before .double()" in labels
    assert any(text.startswith("(x before .double()).grad (") for text in labels)
    made = labels.index("Node AccumulateGrad (x before .double())")
    assert "which writes (x before .double()).grad." in why_here(trace, made)


CALL = "import torch\nb, w = torch.ones(2), torch.ones(2, 3)\ny = torch.nn.functional.linear(torch.ones(1, 3), w, b)\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_tensors_are_matched_with_parameters(engine: str) -> None:
    trace = traced(CALL, engine)
    computed = next(
        event.seq
        for event in trace
        if isinstance(event, ev.KeySetComputed) and [name for name, *_ in event.arguments] == ["self", "mat1", "mat2"]
    )
    first = key_set_pane.rows(trace, computed, 80)[0].plain
    assert first.startswith("AutogradCPU wins  call of aten::addmm(self = b, mat1 = t"), first
    assert first.endswith(", mat2 = w.T)")
    rows = [row.plain for row in tensors_pane.rows(trace, computed, 80)]
    assert [row.rpartition("argument ")[2].split()[0] for row in rows if "argument " in row] == ["self", "mat1", "mat2"]
    assert max(map(len, rows)) <= 100


def test_the_sentence_of_a_binding_says_which_tensor_is_which_parameter() -> None:
    trace = traced("import torch\na, b = torch.ones(2), torch.ones(2)\nc = torch.add(a, b)\nd = a.exp()\n", "model")
    said = {event.function: why_here(trace, event.seq) for event in trace if isinstance(event, ev.BindingEntered)}
    assert ", with input = a and other = b. It leads to the operator aten::add.Tensor." in said["torch.add"]
    assert "with" not in said["Tensor.exp"]
