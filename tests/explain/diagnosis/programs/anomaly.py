"""Anomaly mode: the Node that returned NaN, and the line that made it."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\n"
WITH = "with torch.autograd.detect_anomaly():\n    "

CASES = [
    Case(
        "sqrt",
        BEGIN
        + "x = torch.tensor([0.0], requires_grad=True)\n"
        + WITH
        + "y = torch.sqrt(x) * 0\n    y.sum().backward()",
        "anomaly mode: NaN",
        (
            "SqrtBackward0, made on line 4 (y = torch.sqrt(x) * 0), returned NaN as the gradient of x",
            "divides the gradient by 2 * sqrt(x)",
        ),
        "torch.sqrt(x + 1e-12)",
        BEGIN
        + "x = torch.tensor([0.0], requires_grad=True)\n"
        + WITH
        + "y = torch.sqrt(x + 1e-12) * 0\n    y.sum().backward()",
    ),
    Case(
        "a division in where",
        BEGIN
        + "torch.autograd.set_detect_anomaly(True)\nx = torch.tensor([0.0, 1.0], requires_grad=True)\n"
        + "y = torch.where(x > 0, 1 / x, torch.zeros(2))\ny.sum().backward()",
        "anomaly mode: NaN",
        ("made on line 4 (y = torch.where(x > 0, 1 / x, torch.zeros(2))), returned NaN as the gradient of x",),
        "choose another divisor with torch.where first",
        fixed=("1 / x,", "1 / torch.where(x > 0, x, 1),"),
    ),
    Case(
        "log in a function",
        BEGIN
        + "def entropy(p):\n    return -p * p.log()\nw = torch.tensor([0.0, 2.0], requires_grad=True)\n"
        + WITH
        + "loss = entropy(w).sum()\n    loss.backward()",
        "anomaly mode: NaN",
        (
            "LogBackward0, made on line 3 (return -p * p.log()), returned NaN as the gradient of w",
            "divides the gradient by w",
        ),
        "torch.log(w + 1e-12)",
        BEGIN
        + "def entropy(p):\n    return -p * (p + 1e-12).log()\nw = torch.tensor([0.0, 2.0], requires_grad=True)\n"
        + WITH
        + "loss = entropy(w).sum()\n    loss.backward()",
    ),
    Case(
        "a root of a negative number",
        BEGIN
        + "w = torch.tensor([-1.0, 2.0], requires_grad=True)\n"
        + WITH
        + "loss = (w ** 0.5).sum()\n    loss.backward()",
        "anomaly mode: NaN",
        ("PowBackward0, made on line 4 (loss = (w ** 0.5).sum()), returned NaN as the gradient of w",),
        "w.clamp(min=1e-12)",
        BEGIN
        + "w = torch.tensor([-1.0, 2.0], requires_grad=True)\n"
        + WITH
        + "loss = (w.clamp(min=1e-12) ** 0.5).sum()\n    loss.backward()",
    ),
    Case(
        "a quotient of two variables",
        BEGIN
        + "a = torch.zeros(2, requires_grad=True)\nb = torch.zeros(2, requires_grad=True)\n"
        + WITH
        + "loss = (a / b).sum()\n    loss.backward()",
        "anomaly mode: NaN",
        ("DivBackward0, made on line 5 (loss = (a / b).sum()), returned NaN as the gradient of b", "Where b is 0"),
        "divide by b + 1e-12",
        BEGIN
        + "a = torch.zeros(2, requires_grad=True)\nb = torch.zeros(2, requires_grad=True)\n"
        + WITH
        + "loss = (a / (b + 1e-12)).sum()\n    loss.backward()",
    ),
]
