"""Programs with inference tensors outside inference mode, and with views made in it."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TORCH = "import torch\n"
MADE = TORCH + "with torch.inference_mode():\n    x = torch.ones(4)\n"
LEAF = TORCH + "w = torch.ones(4, requires_grad=True)\nwith torch.inference_mode():\n    x = torch.ones(4)\n"
EVALUATE = """
import torch
@torch.inference_mode()
def evaluate(x):
    return x * 2
y = evaluate(torch.ones(3))
"""
NET = TORCH + "from torch import nn\nwith torch.inference_mode():\n    x = torch.ones(1, 2)\nnet = nn.Linear(2, 1)\n"
VIEW = TORCH + "x = torch.ones(4, requires_grad=True)\ny = x * 2\n"

CASES = [
    Case(
        "an in-place call",
        MADE + "x.add_(1)",
        "inference tensor: written to",
        ("x (line 3) is an inference tensor", "line 4 (x.add_(1)) writes to it in place", "add_"),
        "x = x.clone() before line 4",
        MADE + "x = x.clone()\nx.add_(1)",
    ),
    Case(
        "an element of a result",
        EVALUATE + "y[0] = 5",
        "inference tensor: written to",
        ("y (line 4) is an inference tensor", "line 6 (y[0] = 5)"),
        "y = y.clone() before line 6",
        EVALUATE + "y = y.clone()\ny[0] = 5",
    ),
    Case(
        "an augmented assignment",
        MADE + "x *= 2",
        "inference tensor: written to",
        ("line 4 (x *= 2) writes to it in place", "mul_"),
        "x = x.clone() before line 4",
        MADE + "x = x.clone()\nx *= 2",
    ),
    Case(
        "a factor",
        LEAF + "y = w * x",
        "inference tensor: saved",
        ("x (line 4) is an inference tensor", "mul on line 5 (y = w * x) records a Node that has to save it"),
        "x = x.clone() before line 5",
        LEAF + "x = x.clone()\ny = w * x",
    ),
    Case(
        "an input of a layer",
        NET + "out = net(x)",
        "inference tensor: saved",
        ("x (line 4) is an inference tensor", "linear on line 6 (out = net(x))"),
        "x = x.clone() before line 6",
        NET + "x = x.clone()\nout = net(x)",
    ),
    Case(
        "the result of an evaluation",
        EVALUATE + "w = torch.ones(3, requires_grad=True)\nloss = (w * y).sum()",
        "inference tensor: saved",
        ("y (line 4) is an inference tensor", "mul on line 7"),
        "y = y.clone() before line 7",
        EVALUATE + "w = torch.ones(3, requires_grad=True)\ny = y.clone()\nloss = (w * y).sum()",
    ),
    Case(
        "a view made in inference mode",
        VIEW + "with torch.inference_mode():\n    v = y.view(2, 2)\nv.add_(1)",
        "in-place write: a view made unrecorded",
        ("Line 5 (v = y.view(2, 2)) made v as a view of y inside torch.inference_mode(), and line 6 (v.add_(1))",),
        "move line 5 out",
        VIEW + "v = y.view(2, 2)\nv.add_(1)",
    ),
]
