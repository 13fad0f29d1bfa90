"""Programs whose gradients accumulate across iterations, and sound ones that reset or sum them on purpose."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TRAINING = """
import torch
from torch import nn
net = nn.Linear(2, 1)
opt = torch.optim.{optimizer}(net.parameters(), lr=0.1)
for i in range(4):
    {before}
    loss = net(torch.ones(3, 2)).sum()
    loss.backward()
    {between}
    {step}
"""


def training(optimizer: str = "SGD", before: str = "pass", between: str = "pass", step: str = "opt.step()") -> str:
    return TRAINING.format(optimizer=optimizer, before=before, between=between, step=step)


KIND = "gradients accumulate across iterations"
PRINTED = "import torch\nw = torch.tensor(2.0, requires_grad=True)\nfor i in range(3):\n    loss = w * 3\n"

CASES = [
    Case(
        "printed",
        PRINTED + "    loss.backward()\n    print(w.grad)",
        KIND,
        (
            "When line 5 (loss.backward()) runs for the 2nd time, it adds the new gradient to w.grad",
            "So line 6 (print(w.grad)) works with the sum",
        ),
        "before line 5 (loss.backward()): w.grad = None",
        PRINTED + "    w.grad = None\n    loss.backward()\n    print(w.grad)",
    ),
    Case(
        "an optimizer",
        training(),
        KIND,
        ("line 8 (loss.backward()) runs for the 2nd time", "net.bias.grad and net.weight.grad", "line 10 (opt.step())"),
        "Call opt.zero_grad() before line 8",
        training(before="opt.zero_grad()"),
    ),
    Case(
        "clipping is no reset",
        training("Adam", between="nn.utils.clip_grad_norm_(net.parameters(), 1.0)"),
        KIND,
        ("line 8 (loss.backward()) runs for the 2nd time", "line 10 (opt.step())"),
        "Call opt.zero_grad() before line 8",
        training("Adam", "opt.zero_grad(set_to_none=False)", "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"),
    ),
    Case(
        "a step by hand",
        "import torch\nw = torch.ones(3, requires_grad=True)\nfor i in range(3):\n    (w * w).sum().backward()\n"
        "    with torch.no_grad():\n        w -= 0.1 * w.grad",
        KIND,
        ("line 4 ((w * w).sum().backward()) runs for the 2nd time", "line 6 (w -= 0.1 * w.grad) works with the sum"),
        "w.grad = None",
        "import torch\nw = torch.ones(3, requires_grad=True)\nfor i in range(3):\n    (w * w).sum().backward()\n"
        "    with torch.no_grad():\n        w -= 0.1 * w.grad\n        w.grad.zero_()",
    ),
]

SOUND = {
    "four micro-batches to a step": training(step="if i % 2: opt.step(); opt.zero_grad()"),
    "two losses": "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(2):\n    w.sum().backward()\n"
    "    (w * w).sum().backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None",
    "a sum over the whole data": PRINTED + "    loss.backward()\nprint(w.grad)",
    "another leaf each time": "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(3):\n"
    "    (w * w).sum().backward()\n    w = (w - 0.1 * w.grad).detach().requires_grad_()",
    "zeroed by way of data": "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(3):\n"
    "    (w * w).sum().backward()\n    w.data -= 0.1 * w.grad.data\n    w.grad.data.zero_()",
}
