"""Programs with saved tensors that a Node cannot use: the saved tensor, the change, the fix."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TORCH = "import torch\n"
LEAF = TORCH + "w = torch.ones(3, requires_grad=True)\n"

WRITES = [
    Case(
        "a saved input",
        LEAF + "x = torch.ones(3)\ny = w * x\nx += 1\ny.sum().backward()",
        "saved tensor changed",
        (
            "MulBackward0, made on line 4 (y = w * x), saved x (as other) at version 0.",
            "Line 5 (x += 1) then changed x in place with add_. x went from version 0 to 1.",
            "so line 6 (y.sum().backward()) fails",
        ),
        "x = x + 1",
        LEAF + "x = torch.ones(3)\ny = w * x\nx = x + 1\ny.sum().backward()",
    ),
    Case(
        "an element of a saved result",
        LEAF + "h = w.exp()\nh[0] = 0\nloss = h.sum()\nloss.backward()",
        "saved tensor changed",
        (
            "ExpBackward0, made on line 3 (h = w.exp()), saved h (its result)",
            "Line 4 (h[0] = 0) then changed h in place",
        ),
        "h = h.clone() before line 4",
        LEAF + "h = w.exp()\nh = h.clone()\nh[0] = 0\nloss = h.sum()\nloss.backward()",
    ),
    Case(
        "a functional with a flag",
        LEAF + "y = torch.sigmoid(w)\ntorch.nn.functional.relu(y, inplace=True)\ny.sum().backward()",
        "saved tensor changed",
        ("SigmoidBackward0, made on line 3", "saved y (its result) at version 0", "with relu_"),
        "y = torch.nn.functional.relu(y)",
        LEAF + "y = torch.sigmoid(w)\ny = torch.nn.functional.relu(y)\ny.sum().backward()",
    ),
    Case(
        "a loop",
        LEAF + "state, total = torch.zeros(3), 0\nfor t in range(3):\n    total = total + (w * state).sum()\n"
        "    state += 1\n"
        "total.backward()",
        "saved tensor changed",
        (
            "made on line 5 (total = total + (w * state).sum()) in iteration 3, saved state (as other) at version 2",
            "Line 6 (state += 1) in iteration 3 then changed state",
            "state went from version 2 to 3",
        ),
        "state = state + 1",
        LEAF + "state, total = torch.zeros(3), 0\nfor t in range(3):\n    total = total + (w * state).sum()\n"
        "    state = state + 1\ntotal.backward()",
    ),
    Case(
        "through detach",
        LEAF + "b = w.exp()\nb.detach().mul_(2)\nb.sum().backward()",
        "saved tensor changed",
        (
            "Line 4 (b.detach().mul_(2)) then changed b in place with mul_",
            "detach() returned",
            "b went from version 0 to 1",
        ),
        "b.detach().clone()",
        LEAF + "b = w.exp()\nb.detach().clone().mul_(2)\nb.sum().backward()",
    ),
    Case(
        "through a variable of detach",
        LEAF + "y = w.exp()\nd = y.detach()\nd.add_(1)\nd.add_(1)\n(y * y).sum().backward()",
        "saved tensor changed",
        ("Line 5 (d.add_(1)) then changed d in place with add_, and y shares its memory", "y went from version 0 to 1"),
        "d = d.add(1)",
        LEAF + "y = w.exp()\nd = y.detach()\nd = d.add(1)\nd = d.add(1)\n(y * y).sum().backward()",
    ),
    Case(
        "a Function",
        TORCH
        + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

x = torch.ones(3, requires_grad=True)
y = x.exp()
z = Square.apply(y)
y.add_(1)
z.sum().backward()""",
        "saved tensor changed",
        ("SquareBackward, made on line 16 (z = Square.apply(y)), saved y (as saved_tensors[0])", "Line 17 (y.add_(1))"),
        "y = y.add(1)",
        fixed=("y.add_(1)", "y = y.add(1)"),
    ),
    Case(
        "a leaf in no_grad",
        LEAF + "v = torch.ones(3, requires_grad=True)\nloss = (w * v).sum()\nwith torch.no_grad():\n    w += 1\n"
        "loss.backward()",
        "saved tensor changed",
        ("saved w (as self) at version 0", "Line 6 (w += 1) then changed w in place with add_"),
        "Run line 7 (loss.backward()) before line 6 (w += 1)",
        LEAF + "v = torch.ones(3, requires_grad=True)\nloss = (w * v).sum()\nloss.backward()\nwith torch.no_grad():\n"
        "    w += 1",
    ),
]

MODULES = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), RELU, nn.Linear(3, 1))
loss = net(torch.ones(4, 2)).sum()
loss.backward()
"""

MODULE = Case(
    "a module that writes in place",
    MODULES.replace("RELU", "nn.ReLU(inplace=True)"),
    "saved tensor changed",
    ("SigmoidBackward0, made on line 4", "saved its result at version 0", "changed that result in place with relu_"),
    "Remove inplace=True on line 3",
    MODULES.replace("RELU", "nn.ReLU()"),
)

GAN = """
import torch
from torch import nn
G = nn.Linear(2, 2)
D = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
oD = torch.optim.SGD(D.parameters(), lr=0.1)
oG = torch.optim.SGD(G.parameters(), lr=0.1)
fake = G(torch.randn(4, 2))
"""

TWO_LOSSES = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
opt = torch.optim.Adam(net.parameters())
x = torch.ones(4, 2)
first = net(x).sum()
"""

LOOP = """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
losses = []
for step in range(2):
    losses.append((w * w).sum())
"""

OPTIMIZERS = [
    Case(
        "a GAN",
        GAN + "d_loss = D(fake).mean()\ng_loss = -D(fake).mean()\noD.zero_grad()\n"
        "d_loss.backward(retain_graph=True)\noD.step()\n"
        "oG.zero_grad()\ng_loss.backward()\noG.step()",
        "saved tensor changed: by an optimizer",
        (
            "made on line 9 (g_loss = -D(fake).mean()), saved D.2.weight.T (as mat2) at version 1",
            "The step of oD on line 12 (oD.step()) then changed D.2.weight in place",
            "and D.2.weight.T shares its memory",
            "so line 14 (g_loss.backward()) fails",
        ),
        "Run line 9 (g_loss = -D(fake).mean()) after line 12",
        GAN
        + "d_loss = D(fake.detach()).mean()\noD.zero_grad()\nd_loss.backward()\noD.step()\ng_loss = -D(fake).mean()\n"
        "oG.zero_grad()\ng_loss.backward()\noG.step()",
    ),
    Case(
        "two forward passes before a step",
        TWO_LOSSES + "second = net(2 * x).sum()\nfirst.backward()\nopt.step()\nsecond.backward()",
        "saved tensor changed: by an optimizer",
        ("line 7 (second = net(2 * x).sum())", "net.2.weight.T", "The step of opt on line 9 (opt.step())"),
        "Run line 7 (second = net(2 * x).sum()) after line 9",
        TWO_LOSSES + "first.backward()\nopt.step()\nopt.zero_grad()\nsecond = net(2 * x).sum()\nsecond.backward()",
    ),
    Case(
        "losses kept in a list",
        LOOP + "for loss in losses:\n    opt.zero_grad()\n    loss.backward()\n    opt.step()",
        "saved tensor changed: by an optimizer",
        (
            "line 6 (losses.append((w * w).sum())) in iteration 2, saved w",
            "The step of opt on line 10 (opt.step()) in iteration 1",
        ),
        "Run line 6 (losses.append((w * w).sum())) after line 10",
        LOOP.replace(
            "    losses.append((w * w).sum())",
            "    loss = (w * w).sum()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()",
        ),
    ),
]

DETACHED = [
    Case(
        "a saved factor",
        LEAF + "y = w.exp()\nz = y * y\ny.detach_()\nz.sum().backward()",
        "saved tensor detached in place",
        ("MulBackward0, made on line 4 (z = y * y), saved y", "Line 5 (y.detach_()) cut y from its history"),
        "y = y.detach()",
        LEAF + "y = w.exp()\nz = y * y\ny = y.detach()\nz.sum().backward()",
    ),
    Case(
        "in a loop",
        LEAF + "h, loss = w * 2, 0\nfor step in range(2):\n    loss = loss + (h * w).sum()\n    h.detach_()\n"
        "loss.backward()",
        "saved tensor detached in place",
        ("made on line 5", "saved h", "Line 6 (h.detach_()) in iteration 1 cut h from its history"),
        "h = h.detach()",
        LEAF + "h, loss = w * 2, 0\nfor step in range(2):\n    loss = loss + (h * w).sum()\n    h = h.detach()\n"
        "loss.backward()",
    ),
    Case(
        "a saved base",
        LEAF + "base = w + 1\nloss = base.pow(2).sum()\nbase.detach_()\nloss.backward()",
        "saved tensor detached in place",
        ("PowBackward0, made on line 4", "saved base (as self)", "Line 5 (base.detach_())"),
        "base = base.detach()",
        LEAF + "base = w + 1\nloss = base.pow(2).sum()\nbase = base.detach()\nloss.backward()",
    ),
]

CASES = [*WRITES, MODULE, *OPTIMIZERS, *DETACHED]
