"""Arrays and copies of tensors that require grad, and pickles of them for other processes."""

from __future__ import annotations

import pytest

from tests.explain.diagnosis.cases import Case, check, traced

LEAF = "import torch\nw = torch.ones(3, requires_grad=True)\n"
NUMPY = "import torch\nimport numpy as np\nfrom torch import nn\nnet = nn.Linear(2, 1)\nout = net(torch.ones(3, 2))\n"
COPY = "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\n"

ARRAYS = [
    Case(
        "a result",
        LEAF + "y = w * 2\nprint(y.numpy())",
        "numpy of a tensor that requires grad",
        (
            "y requires grad, because it was computed from the leaf w (line 2)",
            "its grad_fn is MulBackward0, made on line 3 (y = w * 2)",
        ),
        "y.detach().numpy()",
        LEAF + "y = w * 2\nprint(y.detach().numpy())",
    ),
    Case(
        "np.asarray of an output",
        NUMPY + "print(np.asarray(out).mean())",
        "numpy of a tensor that requires grad",
        ("out requires grad, because it was computed from the leaves net.weight (line 4) and net.bias (line 4)",),
        "out.detach().numpy()",
        NUMPY + "print(np.asarray(out.detach().numpy()).mean())",
    ),
    Case(
        "a leaf",
        LEAF + "values = [float(v) for v in w.numpy()]",
        "numpy of a tensor that requires grad",
        ("w (line 2) is a leaf that requires grad",),
        "w.detach().numpy()",
        LEAF + "values = [float(v) for v in w.detach().numpy()]",
    ),
    Case(
        "an expression",
        LEAF + "h = torch.relu(w - 2)\nprint((h + 1).numpy())",
        "numpy of a tensor that requires grad",
        ("h + 1 requires grad, because it was computed from the leaf w (line 2): its grad_fn is AddBackward0",),
        "(h + 1).detach().numpy()",
        LEAF + "h = torch.relu(w - 2)\nprint((h + 1).detach().numpy())",
    ),
]

ARRAYS += [
    Case(
        "a parameter of a function",
        LEAF + "def f(t):\n    return t.numpy()\nf(w * 3)",
        "numpy of a tensor that requires grad",
        ("t requires grad, because it was computed from the leaf w (line 2)", "MulBackward0, made on line 5"),
        "t.detach().numpy()",
        LEAF + "def f(t):\n    return t.detach().numpy()\nf(w * 3)",
    ),
    Case(
        "a list",
        LEAF + "import numpy as np\nlosses = [(w * i).sum() for i in range(3)]\nprint(np.array(losses))",
        "numpy of a tensor that requires grad",
        ("losses[0] requires grad", "SumBackward0"),
        "losses[0].detach().numpy()",
        LEAF
        + "import numpy as np\nlosses = [(w * i).sum().detach().numpy() for i in range(3)]\nprint(np.array(losses))",
    ),
]

MODULE = """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        self.last = self.lin(x)
        return self.last.sum()

net = Net()
net(torch.ones(1, 2))
best = copy.deepcopy(net)
"""

COPIES = [
    Case(
        "a result",
        COPY + "y = w * 2\nz = copy.deepcopy(y)",
        "deepcopy of a non-leaf",
        ("y requires grad, because it was computed from the leaf w (line 3)", "Line 5 (z = copy.deepcopy(y))"),
        "y.detach().clone()",
        COPY + "y = w * 2\nz = y.detach().clone()",
    ),
    Case(
        "a dict that holds one",
        COPY + 'state = {"w": w, "norm": (w * w).sum()}\nsaved = copy.deepcopy(state)',
        "deepcopy of what holds a non-leaf",
        ("state holds state['norm']", "its grad_fn is SumBackward0, made on line 4"),
        "state['norm'] = state['norm'].detach()",
        COPY + 'state = {"w": w, "norm": (w * w).sum().detach()}\nsaved = copy.deepcopy(state)',
    ),
    Case(
        "a module that keeps one",
        MODULE,
        "deepcopy of what holds a non-leaf without a name",
        ("net holds a tensor with a grad_fn", "Line 16 (best = copy.deepcopy(net))"),
        "without its history in net",
        MODULE.replace("self.last.sum()", "self.lin(x).sum()").replace("self.lin(x)\n", "self.lin(x).detach()\n"),
    ),
]

CASES = [*ARRAYS, *COPIES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_model(case: Case) -> None:
    check(case, "model")


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_an_installed_pytorch(case: Case) -> None:
    check(case, "torch")


PICKLER = "import torch.multiprocessing\nfrom multiprocessing.reduction import ForkingPickler\n"

PICKLED = [
    Case(
        "a result",
        LEAF + PICKLER + "y = w * 2\nForkingPickler.dumps(y)",
        "a non-leaf sent to a process",
        ("y requires grad, because it was computed from the leaf w (line 2)", "Line 6 (ForkingPickler.dumps(y))"),
        "y.detach()",
    ),
    Case(
        "an expression",
        LEAF + PICKLER + "ForkingPickler.dumps(w.exp())",
        "a non-leaf sent to a process",
        ("w.exp() requires grad", "ExpBackward0"),
        "w.exp().detach()",
    ),
    Case(
        "an output of a module",
        NUMPY + PICKLER + "ForkingPickler.dumps(out)",
        "a non-leaf sent to a process",
        ("out requires grad, because it was computed from the leaves net.weight (line 4) and net.bias (line 4)",),
        "out.detach()",
    ),
]
"""The model has no torch.multiprocessing. Nor is the fixed program run: it would begin a process that shares memory."""


@pytest.mark.torch
@pytest.mark.parametrize("case", PICKLED, ids=lambda case: case.name)
def test_what_is_sent_to_a_process(case: Case) -> None:
    check(case, "torch")


def test_pytorch_pickles_a_non_leaf_by_itself() -> None:
    """Pickling is refused for other processes alone, so that a program that saves a result has no diagnosis."""
    trace = traced(LEAF + "import io\ny = w * 2\ntorch.save(y, io.BytesIO())")
    assert type(trace[-1]).__name__ != "ProgramRaised"
