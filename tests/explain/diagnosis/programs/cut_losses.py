"""Losses that were cut from their graphs and made leaves; operators whose derivative is zero everywhere."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\nnet = nn.Linear(4, 3)\nx = torch.randn(2, 4)\n"
LEAF = "import torch\nw = torch.tensor([0.3, -1.2], requires_grad=True)\n"
CUT, ZEROS = "loss cut from its graph", "derivative that is zero everywhere"

CASES = [
    Case(
        "argmax",
        BEGIN + "loss = net(x).argmax(1).float().mean()\nloss.requires_grad_(True)\nloss.backward()",
        CUT,
        (
            "loss has no history: argmax on line 5",
            "returns a tensor of torch.int64",
            "Line 6 (loss.requires_grad_(True)) made loss a new leaf",
            "the backward pass on line 7 (loss.backward()) starts and ends there",
            "net.bias and net.weight get no gradient",
        ),
        "Compute the loss from the result of linear on line 5, before argmax",
        BEGIN + "loss = nn.functional.cross_entropy(net(x), torch.tensor([0, 1]))\nloss.backward()",
    ),
    Case(
        "a comparison",
        BEGIN + "accuracy = (net(x) > 0).float().mean()\naccuracy.requires_grad = True\naccuracy.backward()",
        CUT,
        ("accuracy has no history: gt on line 5", "torch.bool", "Line 6 (accuracy.requires_grad = True)"),
        "before gt on line 5",
        fixed=("(net(x) > 0).float().mean()\naccuracy.requires_grad = True", "net(x).sigmoid().mean()"),
    ),
    Case(
        "the number of a loss",
        BEGIN + "out = net(x)\nloss = torch.tensor(out.sum().item(), requires_grad=True)\nloss.backward()",
        CUT,
        (
            "converts the result of sum on line 6 to a Python number",
            "The same line made loss a new leaf",
            "net.bias and net.weight get no gradient",
        ),
        "remove item() on line 6",
        BEGIN + "out = net(x)\nloss = out.sum()\nloss.backward()",
    ),
    Case(
        "the number of a loss in a variable",
        BEGIN + "total = net(x).pow(2).mean().item()\nloss = torch.tensor(total, requires_grad=True)\nloss.backward()",
        CUT,
        (
            "line 5 (total = net(x).pow(2).mean().item()) converts the result of mean on line 5 to a Python number",
            "Line 6",
            "line 7 (loss.backward())",
        ),
        "remove item() on line 5",
        BEGIN + "loss = net(x).pow(2).mean()\nloss.backward()",
    ),
    Case(
        "detach",
        BEGIN + "loss = net(x).sum().detach()\nloss.requires_grad_()\nloss.backward()",
        CUT,
        ("line 5 (loss = net(x).sum().detach()) cut it from the result of sum on line 5 by detach()", "Line 6"),
        "Remove detach() on line 5",
        BEGIN + "loss = net(x).sum()\nloss.backward()",
    ),
    Case(
        "round",
        LEAF + "loss = (w.round() * 2).sum()\nloss.backward()",
        ZEROS,
        (
            "The derivative of round on line 3 (loss = (w.round() * 2).sum()) is 0 everywhere",
            "RoundBackward0 returns zeros",
            "on line 4 (loss.backward()) every path to w leads through a Node like this",
        ),
        "Remove round on line 3",
        LEAF + "loss = ((w + (w.round() - w).detach()) * 2).sum()\nloss.backward()",
    ),
    Case(
        "sign in a model",
        BEGIN + "h = torch.sign(net(x))\nh.mean().backward()",
        ZEROS,
        ("sign on line 5", "SignBackward0", "every path to net.bias and net.weight"),
        "Remove sign on line 5",
        fixed=("torch.sign(net(x))", "net(x)"),
    ),
    Case(
        "floor, of one of two leaves",
        LEAF + "v = torch.ones(2, requires_grad=True)\n(v * torch.floor(w)).sum().backward()",
        ZEROS,
        ("floor on line 4", "FloorBackward0", "every path to w leads"),
        "Remove floor on line 4",
        fixed=("torch.floor(w)", "w"),
    ),
]

ON_THE_MODEL = [
    Case(
        "no_grad",
        BEGIN + "with torch.no_grad():\n    loss = net(x).sum()\nloss.requires_grad_()\nloss.backward()",
        CUT,
        ("line 6 (loss = net(x).sum()) ran while grad mode was off", "net.weight and net.bias get no gradient"),
        "Move line 6 out of torch.no_grad()",
        BEGIN + "loss = net(x).sum()\nloss.backward()",
    ),
]
"""Programs whose parameters do not visibly require grad in a recording of an installed PyTorch: no Node has them as
inputs.
"""

SOUND = {
    "the backward pass of a leaf": LEAF + "s = torch.ones((), requires_grad=True)\ns.backward()",
    "a graph in two parts": LEAF + "y = w * 2\nh = y.detach().requires_grad_()\n(h * 3).sum().backward()\n"
    "y.backward(h.grad)",
    "the accuracy beside the loss": BEGIN + "out = net(x)\nright = (out.argmax(1) == 0).float().mean()\n"
    "out.sum().backward()\nprint(right.item())",
    "a straight-through estimator": LEAF + "(w + (w.round() - w).detach()).sum().backward()",
    "the fractional part": LEAF + "(w - w.floor()).sum().backward()",
    "sign times the tensor": LEAF + "(w * w.sign()).sum().backward()",
}
