"""Programs that use ``.grad`` as a tensor while it is None."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nw = torch.ones(2, requires_grad=True)\n"
NONE = "gradient that is None"

CASES = [
    Case(
        "a reset before any backward pass",
        BEGIN + "w.grad.zero_()\n(w * w).sum().backward()",
        NONE,
        ("w.grad is None on line 3 (w.grad.zero_())", "No backward pass has run", "writes a gradient to w"),
        "if w.grad is not None: w.grad.zero_()",
        fixed=("w.grad.zero_()", "if w.grad is not None: w.grad.zero_()"),
    ),
    Case(
        "a step by hand whose result is not a leaf",
        BEGIN + "for i in range(2):\n    (w * w).sum().backward()\n    w = w - 0.1 * w.grad",
        NONE,
        ("w.grad is None on line 5", "w is not a leaf: it is the result of sub on line 5", "only for leaves"),
        "Change the leaf in place on line 5",
        fixed=("    w = w - 0.1 * w.grad", "    with torch.no_grad(): w -= 0.1 * w.grad\n    w.grad = None"),
    ),
    Case(
        "a norm after zero_grad",
        BEGIN + "sgd = torch.optim.SGD([w], 0.1)\n(w * w).sum().backward()\nsgd.step()\nsgd.zero_grad()\n"
        "print(w.grad.norm())",
        NONE,
        ("Line 6 (sgd.zero_grad()) removed the gradient that line 4 ((w * w).sum().backward()) wrote",),
        "Move line 6 after line 7",
        fixed=("sgd.zero_grad()\nprint(w.grad.norm())", "print(w.grad.norm())\nsgd.zero_grad()"),
    ),
    Case(
        "a gradient that torch.autograd.grad returns",
        BEGIN + "torch.autograd.grad((w * w).sum(), w)\nstep = 0.1 * w.grad",
        NONE,
        ("w.grad is None on line 4", "torch.autograd.grad on line 3", "writes none to .grad"),
        "Use the gradients that it returns",
        BEGIN + "grad, = torch.autograd.grad((w * w).sum(), w)\nstep = 0.1 * grad",
    ),
    Case(
        "a tensor that no graph has",
        BEGIN + "b = torch.zeros(2)\n(w + b).sum().backward()\nprint(b.grad[0])",
        NONE,
        (
            "b.grad is None on line 5",
            "Line 4 ((w + b).sum().backward()) ran a backward pass",
            "not a leaf of the graph",
        ),
        "Let b require grad, and compute the loss of line 4 from it",
        fixed=("torch.zeros(2)", "torch.zeros(2, requires_grad=True)"),
    ),
    Case(
        "parameters in a loop",
        "import torch\nnet = torch.nn.Linear(2, 1)\nfor p in net.parameters():\n    p.grad.zero_()",
        NONE,
        ("p.grad is None on line 4 (p.grad.zero_())", "No backward pass has run"),
        "if p.grad is not None: p.grad.zero_()",
        fixed=("p.grad.zero_()", "if p.grad is not None: p.grad.zero_()"),
    ),
    Case(
        "a result in the graph",
        BEGIN + "y = w * 2\ny.sum().backward()\nprint(y.grad.sum())",
        NONE,
        ("y is not a leaf: it is the result of mul on line 3 (y = w * 2)",),
        "Call y.retain_grad() before the backward pass",
        fixed=("y = w * 2", "y = w * 2\ny.retain_grad()"),
    ),
]

SOUND = {
    "a gradient": BEGIN + "(w * w).sum().backward()\nprint(w.grad.norm())",
}
