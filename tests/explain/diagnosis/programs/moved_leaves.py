"""Programs that read the gradient of a result, or make a parameter of a computed tensor."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\n"
RESULT, MOVED, PARAMETER = "gradient of a result", "gradient of a moved leaf", "parameter of a computed tensor"

CASES = [
    Case(
        "a result",
        BEGIN + "x = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y.sum()\nz.backward()\nprint(y.grad)",
        RESULT,
        (
            "y is not a leaf: it is the result of mul on line 4 (y = x * 2)",
            "MulBackward0",
            "here for x",
            "y.grad is None",
        ),
        "y.retain_grad() before line 6 (z.backward())",
        BEGIN + "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.retain_grad()\nz = y.sum()\nz.backward()\n"
        "print(y.grad)",
    ),
    Case(
        "a hidden layer",
        BEGIN + "net = nn.Linear(2, 2)\nh = net(torch.ones(1, 2))\nh.relu().sum().backward()\ng = h.grad",
        RESULT,
        ("h is not a leaf", "linear on line 4", "here for net.bias and net.weight"),
        "h.retain_grad() before line 5",
        fixed=("h.relu()", "h.retain_grad()\nh.relu()"),
    ),
    Case(
        "after a step by hand",
        BEGIN + "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\nw = w - 0.1 * w.grad\n"
        "(w * 2).sum().backward()\nprint(w.grad)",
        RESULT,
        ("w is not a leaf: it is the result of sub on line 5 (w = w - 0.1 * w.grad)", "w.grad is None"),
        "retain_grad() before line 6",
        fixed=("(w * 2)", "w.retain_grad()\n(w * 2)"),
    ),
    Case(
        "a factor behind the leaf",
        BEGIN + "x = torch.ones(2, requires_grad=True) * 2\nx.sum().backward()\nprint(x.grad)",
        MOVED,
        ("the result of mul on line 3", "no variable holds it", "Line 4 (x.sum().backward()) wrote the gradient"),
        "x.requires_grad_()",
        BEGIN + "x = (torch.ones(2) * 2).requires_grad_()\nx.sum().backward()\nprint(x.grad)",
    ),
    Case(
        "another dtype",
        BEGIN + "x = torch.ones(2, requires_grad=True).to(torch.float64)\nx.sum().backward()\nprint(x.grad)",
        MOVED,
        ("the result of to on line 3", "Line 4 (x.sum().backward()) wrote the gradient to that leaf"),
        "Move the tensor first",
        BEGIN + "x = torch.ones(2).to(torch.float64).requires_grad_()\nx.sum().backward()\nprint(x.grad)",
    ),
    Case(
        "a view",
        BEGIN + "x = torch.ones(4, requires_grad=True).view(2, 2)\nx.sum().backward()\nprint(x.grad)",
        MOVED,
        ("the result of view on line 3", "x.grad is None"),
        "Call view first",
        BEGIN + "x = torch.ones(4).view(2, 2).requires_grad_()\nx.sum().backward()\nprint(x.grad)",
    ),
    Case(
        "a parameter of a product",
        BEGIN + "a = torch.ones(3, requires_grad=True)\np = nn.Parameter(a * 2)\n(p ** 2).sum().backward()",
        PARAMETER,
        ("Line 4 (p = nn.Parameter(a * 2)) makes a parameter of", "ends at p, and a gets none"),
        "instead of nn.Parameter on line 4",
        BEGIN + "a = torch.ones(3, requires_grad=True)\np = a * 2\n(p ** 2).sum().backward()",
    ),
    Case(
        "a parameter in a module",
        BEGIN + "class Net(nn.Module):\n    def __init__(self, scale):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(scale.exp())\n    def forward(self, x):\n        return self.weight * x\n"
        "scale = torch.ones(3, requires_grad=True)\nnet = Net(scale)\nnet(torch.ones(3)).sum().backward()",
        PARAMETER,
        ("Line 6 (self.weight = nn.Parameter(scale.exp()))", "scale gets none"),
        "compute it in forward()",
        fixed=("self.weight = nn.Parameter(scale.exp())", "self.weight = scale.exp()"),
    ),
    Case(
        "a parameter of two leaves",
        BEGIN + "a = torch.ones(3, requires_grad=True)\nb = torch.ones(3, requires_grad=True)\nc = a + b\n"
        "p = nn.Parameter(c)\n(p ** 2).sum().backward()",
        PARAMETER,
        ("makes a parameter of c, which is computed from a and b", "a and b get none"),
        "instead of nn.Parameter on line 6",
        fixed=("nn.Parameter(c)", "c"),
    ),
]

ON_A_GPU = [
    Case(
        "the copy on a GPU",
        BEGIN + "x = torch.ones(3, requires_grad=True).to('cuda')\n(x ** 2).sum().backward()\nprint(x.grad)",
        MOVED,
        ("x is not a leaf: it is the result of to on line 3", "no variable holds it", "x.grad is None"),
        "Move the tensor first and let the result require grad, on line 3: x.requires_grad_()",
        BEGIN + "x = torch.ones(3).to('cuda').requires_grad_()\n(x ** 2).sum().backward()\nprint(x.grad)",
    ),
]

SOUND = {
    "a leaf": BEGIN + "x = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\nprint(x.grad)",
    "no grad needed": BEGIN + "x = torch.ones(2) * 2\nprint(x.grad)",
    "a parameter of data": BEGIN + "p = nn.Parameter(torch.ones(3) * 2)\n(p ** 2).sum().backward()",
    "a parameter from another module": BEGIN + "old = nn.Linear(2, 2)\nold(torch.ones(1, 2)).sum().backward()\n"
    "p = nn.Parameter(old.weight * 2)\n(p ** 2).sum().backward()",
}
