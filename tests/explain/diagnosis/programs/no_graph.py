"""A backward pass without a Node to start at: which leaves do not require grad, or what cut the history."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nw = torch.ones(3, requires_grad=True)\n"

CASES = [
    Case(
        "two leaves",
        "import torch\nw = torch.randn(3)\nx = torch.ones(3)\nloss = (w * x).sum()\nloss.backward()",
        "no grad_fn: no leaf requires grad",
        ("loss is computed from w (line 2) and x (line 3)", "neither of which requires grad"),
        "w on line 2",
        BEGIN + "x = torch.ones(3)\nloss = (w * x).sum()\nloss.backward()",
    ),
    Case(
        "one leaf, no variable for the loss",
        "import torch\nw = torch.ones(3)\n(w * 2).sum().backward()",
        "no grad_fn: no leaf requires grad",
        ("the result of sum on line 3", "w (line 2), which does not require grad"),
        "w on line 2",
        BEGIN + "(w * 2).sum().backward()",
    ),
    Case(
        "a leaf",
        "import torch\nx = torch.ones(())\nx.backward()",
        "no grad_fn: a leaf",
        ("x (line 2) does not require grad",),
        "Compute x from",
    ),
    Case(
        "detach",
        BEGIN + "y = w.detach() * 2\ny.sum().backward()",
        "no grad_fn: detached",
        ("the result of sum on line 4 has no grad_fn", "line 3 (y = w.detach() * 2) cut it from w"),
        "Leave out detach() on line 3",
        BEGIN + "y = w * 2\ny.sum().backward()",
    ),
    Case(
        "no_grad",
        BEGIN + "with torch.no_grad():\n    y = w * 2\nloss = y.sum()\nloss.backward()",
        "no grad_fn: grad mode off",
        (
            "loss has no grad_fn",
            "line 4 (y = w * 2) ran while grad mode was off (since line 3 (with torch.no_grad():))",
        ),
        "Move line 4 out of torch.no_grad()",
        BEGIN + "y = w * 2\nloss = y.sum()\nloss.backward()",
    ),
    Case(
        "inference_mode as a decorator",
        BEGIN + "@torch.inference_mode()\ndef double(x):\n    return x * 2\nloss = double(w).sum()\nloss.backward()",
        "no grad_fn: grad mode off",
        ("loss has no grad_fn", "line 5 (return x * 2) ran while grad mode was off"),
        "Move line 5 out of torch.inference_mode()",
        BEGIN + "def double(x):\n    return x * 2\nloss = double(w).sum()\nloss.backward()",
    ),
    Case(
        "argmax",
        BEGIN + "y = w.argmax().float()\ny.backward()",
        "no grad_fn: not differentiable",
        ("y has no grad_fn", "argmax on line 3 (y = w.argmax().float()) is not differentiable"),
        "the input of argmax",
        BEGIN + "y = w.max()\ny.backward()",
    ),
]
