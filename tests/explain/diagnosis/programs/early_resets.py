"""Optimizers that reset their gradients before they use them."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TRAINING = """
import torch
from torch import nn
net = nn.Linear(2, 1)
opt = torch.optim.{optimizer}(net.parameters(), lr=0.1)
for i in range(3):
    {before}
    loss = net(torch.ones(3, 2)).sum()
    loss.backward()
    {between}
    opt.step()
    {after}
"""


def training(
    optimizer: str = "SGD", before: str = "pass", between: str = "pass", after: str = "pass", more: str = ""
) -> str:
    return TRAINING.format(optimizer=optimizer, before=before, between=between, after=after) + more


KIND = "gradients reset before the step"
STEPS = "import torch\nw = torch.ones(3, requires_grad=True)\nsgd = torch.optim.SGD([w], lr=0.1)\n"

CASES = [
    Case(
        "a training loop",
        training(between="opt.zero_grad()"),
        KIND,
        (
            "Line 9 (opt.zero_grad()) removes the gradients of net.bias and net.weight",
            "which line 8 (loss.backward()) computed",
            "So line 10 (opt.step()) has none to use and changes nothing",
        ),
        "Move line 9 before line 8, or after line 10",
        training(before="opt.zero_grad()"),
        torch_why=(
            "Line 9 (opt.zero_grad()) removes the gradients of the parameters of opt, after line 8",
            "changes nothing",
        ),
    ),
    Case(
        "gradients of zeros",
        training("Adam", between="opt.zero_grad(set_to_none=False)"),
        KIND,
        ("Line 9", "sets the gradients of net.bias and net.weight to zero", "line 10 (opt.step()) works with zeros"),
        "Move line 9 before line 8",
        training("Adam", before="opt.zero_grad(set_to_none=False)"),
        torch_why=(
            "Line 9",
            "sets the gradients of the parameters of opt to zero",
            "line 10 (opt.step()) works with zeros",
        ),
    ),
    Case(
        "one step",
        STEPS + "(w * w).sum().backward()\nsgd.zero_grad()\nsgd.step()",
        KIND,
        ("Line 5 (sgd.zero_grad()) removes the gradient of w, which line 4 ((w * w).sum().backward()) computed",),
        "Move line 5 before line 4, or after line 6",
        STEPS + "sgd.zero_grad()\n(w * w).sum().backward()\nsgd.step()",
        torch_why=("Line 5 (sgd.zero_grad()) removes the gradients of the parameters of sgd",),
    ),
]
"""The cases. A recording of an installed PyTorch does not show that a gradient is set to None."""

SOUND = {
    "a reset behind the step": training(after="opt.zero_grad()"),
    "bad batches are left out": training(before="opt.zero_grad()", between="if i == 1: opt.zero_grad()"),
    "steps on one line with a condition": training(before="opt.zero_grad()", between="if i > 5: opt.zero_grad()"),
    "another model's gradients": STEPS + "v = torch.ones(3, requires_grad=True)\n"
    "other = torch.optim.SGD([v], lr=0.1)\n(w * v).sum().backward()\nother.zero_grad()\nsgd.step()\n"
    "(w * v).sum().backward()\nother.step()\nother.zero_grad()",
    "a closure": STEPS.replace("SGD", "LBFGS").replace("lr=0.1", "max_iter=2")
    + "def closure():\n    sgd.zero_grad()\n    loss = (w * w).sum()\n    loss.backward()\n    return loss\n"
    "sgd.step(closure)",
}
