"""Calls of backward and grad that PyTorch refuses."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TORCH = "import torch\n"
LEAF = TORCH + "w = torch.ones(3, requires_grad=True)\n"
LOSS = """
import torch
from torch import nn
net = nn.Linear(2, 1)
criterion = nn.MSELoss(REDUCTION)
loss = criterion(net(torch.ones(4, 2)), torch.zeros(4, 1))
loss.backward()
"""

MODEL = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
    def forward(self, x):
        return self.l(x)
net = Net()
"""

NOT_SCALAR = [
    Case(
        "an output that has no variable",
        MODEL + "net(torch.ones(3, 2)).backward()",
        "non-scalar backward",
        ("net(torch.ones(3, 2)), made by linear on line 8", "Line 10 (net(torch.ones(3, 2)).backward())"),
        "net(torch.ones(3, 2)).sum().backward()",
        MODEL + "net(torch.ones(3, 2)).sum().backward()",
    ),
    Case(
        "a power",
        LEAF + "loss = (w - 1) ** 2\nloss.backward()",
        "non-scalar backward",
        (
            "loss, made by pow on line 3 (loss = (w - 1) ** 2), has the shape [3]: 3 elements",
            "Line 4 (loss.backward())",
        ),
        "loss.sum().backward(), or loss.mean().backward()",
        LEAF + "loss = (w - 1) ** 2\nloss.sum().backward()",
    ),
    Case(
        "a criterion that reduces nothing",
        LOSS.replace("REDUCTION", 'reduction="none"'),
        "non-scalar backward",
        ("loss, made by mse_loss on line 5", "has the shape [4, 1]: 4 elements"),
        "loss.mean().backward()",
        LOSS.replace("REDUCTION", ""),
    ),
    Case(
        "grad",
        LEAF + "y = w.exp()\n(g,) = torch.autograd.grad(y, w)",
        "non-scalar backward",
        ("y, made by exp on line 3 (y = w.exp()), has the shape [3]", "torch.autograd.grad(y, w)"),
        "pass y.sum() instead of y",
        LEAF + "y = w.exp()\n(g,) = torch.autograd.grad(y.sum(), w)",
    ),
    Case(
        "torch.autograd.backward",
        LEAF + "z = (torch.ones(2, 3) + w).mean(dim=1)\ntorch.autograd.backward(z)",
        "non-scalar backward",
        ("z, made by mean on line 3", "has the shape [2]: 2 elements"),
        "pass z.sum() instead of z",
        LEAF + "z = (torch.ones(2, 3) + w).mean(dim=1)\ntorch.autograd.backward(z.sum())",
    ),
    Case(
        "an expression",
        LEAF + "(w * 2).backward()",
        "non-scalar backward",
        ("w * 2, made by mul on line 3", "has the shape [3]"),
        "(w * 2).sum().backward()",
        LEAF + "(w * 2).sum().backward()",
    ),
]

NET = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
loss = CALL(torch.ones(1, 2)).sum()
grads = torch.autograd.grad(loss, list(net.parameters()))
"""

UNUSED = [
    Case(
        "a leaf that no call used",
        LEAF + "x = torch.ones(3, requires_grad=True)\ny = (x * 2).sum()\ng = torch.autograd.grad(y, [x, w])",
        "unused input: not used",
        ("No path leads from y to w: no operator used w before line 5",),
        "allow_unused=True",
        LEAF + "x = torch.ones(3, requires_grad=True)\ny = (x * 2).sum()\n"
        "g = torch.autograd.grad(y, [x, w], allow_unused=True)",
    ),
    Case(
        "a detached result",
        LEAF + "h = w * 2\ny = (h.detach() * w).sum()\ng = torch.autograd.grad(y, h)",
        "unused input: cut",
        ("No path leads from y to h: line 4 (y = (h.detach() * w).sum()) used h through detach()",),
        "Compute y from h itself",
        LEAF + "h = w * 2\ny = (h * w).sum()\ng = torch.autograd.grad(y, h)",
    ),
    Case(
        "a layer that was left out",
        NET.replace("CALL", "net[0]"),
        "unused input: not used",
        ("No path leads from loss to net.1.weight: no operator used net.1.weight",),
        "allow_unused=True",
        NET.replace("CALL", "net"),
    ),
    Case(
        "an element",
        LEAF + "y = (w * 2).sum()\ng = torch.autograd.grad(y, w[0])",
        "unused input: made too late",
        ("w[0] is a tensor that was made on line 4", "by select, after y had been computed on line 3"),
        "Request the gradient of the tensor from which y was computed",
        LEAF + "y = (w * 2).sum()\ng = torch.autograd.grad(y, w)[0][0]",
    ),
    Case(
        "a variable that names another tensor",
        LEAF + "y = w.sum()\nw = w * 2\ng = torch.autograd.grad(y, w)",
        "unused input: made too late",
        ("w is a tensor that was made on line 4 (w = w * 2) by mul, after y had been computed on line 3",),
        "Request the gradient of the tensor from which y was computed",
        LEAF + "y = w.sum()\nv = w * 2\ng = torch.autograd.grad(y, w)",
    ),
    Case(
        "a result that was used for something else",
        LEAF + "h = w * 2\nz = h + 1\ny = (w * w).sum()\ng = torch.autograd.grad(y, h)",
        "unused input: used elsewhere",
        ("add on line 4 (z = h + 1) used h, but y was not computed from its result",),
        "allow_unused=True",
        LEAF + "h = w * 2\nz = h + 1\ny = (w * z).sum()\ng = torch.autograd.grad(y, h)",
    ),
]

NOT_REQUIRED = [
    Case(
        "a leaf without the flag",
        LEAF + "x = torch.ones(3)\ny = (x * w).sum()\ng = torch.autograd.grad(y, x)",
        "grad of a tensor that does not require grad",
        ("x (line 3) does not require grad", "line 5 (g = torch.autograd.grad(y, x)) asks"),
        "Set requires_grad=True on x where you create it on line 3",
        LEAF + "x = torch.ones(3, requires_grad=True)\ny = (x * w).sum()\ng = torch.autograd.grad(y, x)",
    ),
    Case(
        "one of two",
        LEAF + "x = torch.ones(3)\ny = (x * w).sum()\ng = torch.autograd.grad(y, [w, x])",
        "grad of a tensor that does not require grad",
        ("x (line 3) does not require grad",),
        "Set requires_grad=True on x",
        LEAF + "x = torch.ones(3, requires_grad=True)\ny = (x * w).sum()\ng = torch.autograd.grad(y, [w, x])",
    ),
    Case(
        "grad of a detached result",
        LEAF + "h = (w * 2).detach()\ny = (h * w).sum()\ng = torch.autograd.grad(y, inputs=h)",
        "grad of a tensor that does not require grad",
        ("h (line 3) does not require grad",),
        "Set requires_grad=True on h",
        LEAF + "h = (w * 2).detach().requires_grad_()\ny = (h * w).sum()\ng = torch.autograd.grad(y, inputs=h)",
    ),
]

MORE = [
    Case(
        "one of two leaves",
        "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "loss = (a * a).sum()\nga, gb = torch.autograd.grad(loss, (a, b))",
        "unused input: not used",
        ("No path leads from loss to b: no operator used b before line 5",),
        "allow_unused=True",
        "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "loss = (a * b).sum()\nga, gb = torch.autograd.grad(loss, (a, b))",
    ),
    Case(
        "another shape of a leaf",
        "import torch\nx = torch.ones(2, 3, requires_grad=True)\nout = (x ** 2).mean()\nflat = x.reshape(-1)\n"
        "g = torch.autograd.grad(out, flat)",
        "unused input: made too late",
        ("flat is a tensor that was made on line 4 (flat = x.reshape(-1)) by reshape, after out",),
        "Request the gradient of the tensor from which out was computed",
        "import torch\nx = torch.ones(2, 3, requires_grad=True)\nflat = x.reshape(-1)\n"
        "out = (flat ** 2).mean()\ng = torch.autograd.grad(out, flat)",
    ),
    Case(
        "a mean under no_grad",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nwith torch.no_grad():\n"
        "    scale = h.mean()\ny = (w * scale).sum()\ng = torch.autograd.grad(y, h)",
        "unused input: cut",
        ("mean on line 5 (scale = h.mean()) used h while grad mode was off",),
        "Compute y from h itself",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nscale = h.mean()\n"
        "y = (w * scale).sum()\ng = torch.autograd.grad(y, h)",
    ),
    Case(
        "an index",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nbest = h.argmax()\n"
        "y = (w * best).sum()\ng = torch.autograd.grad(y, h)",
        "unused input: cut",
        ("argmax on line 4 (best = h.argmax()) used h, and it is not differentiable",),
        "Compute y from h itself",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nbest = h.max()\ny = (w * best).sum()\n"
        "g = torch.autograd.grad(y, h)",
    ),
    Case(
        "the input of another loss",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\naux = h.pow(2).sum()\nloss = w.sum()\n"
        "g = torch.autograd.grad(loss, h)",
        "unused input: used elsewhere",
        ("pow on line 4 (aux = h.pow(2).sum()) used h, but loss was not computed from its result",),
        "allow_unused=True",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\naux = h.pow(2).sum()\n"
        "loss = w.sum() + aux\ng = torch.autograd.grad(loss, h)",
    ),
    Case(
        "a second head",
        """
import torch
from torch import nn
body, head, aux = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
h = body(torch.ones(3, 2))
out, side = head(h), aux(h)
g = torch.autograd.grad(out.sum(), aux.weight)
""",
        "unused input: used elsewhere",
        ("linear on line 5 (out, side = head(h), aux(h)) used aux.weight",),
        "allow_unused=True",
        """
import torch
from torch import nn
body, head, aux = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
h = body(torch.ones(3, 2))
out, side = head(h), aux(h)
g = torch.autograd.grad((out + side).sum(), aux.weight)
""",
    ),
    Case(
        "a Function that returns None",
        """
import torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, *grads):
        return None

x = torch.ones(2, requires_grad=True)
y = Half.apply(x.exp())
g = torch.autograd.grad(y.sum(), x)
""",
        "unused input: no gradient passed",
        (
            "A path leads from y.sum() to x, but no gradient arrived along it: a Node on it returned None",
            "The Node of the custom Function Half ran in this pass",
        ),
        "Return a gradient from Half.backward",
        """
import torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, *grads):
        return grads[0] / 2

x = torch.ones(2, requires_grad=True)
y = Half.apply(x.exp())
g = torch.autograd.grad(y.sum(), x)
""",
    ),
    Case(
        "a Function that leaves out an input",
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        return a * b

    @staticmethod
    def backward(ctx, *grads):
        (b,) = ctx.saved_tensors
        return grads[0] * b, None

x = torch.ones(2, requires_grad=True)
s = torch.ones(2, requires_grad=True)
y = Scale.apply(x, s)
g = torch.autograd.grad(y.sum(), s)
""",
        "unused input: no gradient passed",
        (
            "A path leads from y.sum() to s",
            "custom Function Scale",
        ),
        "Return a gradient from Scale.backward",
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, *grads):
        a, b = ctx.saved_tensors
        return grads[0] * b, grads[0] * a

x = torch.ones(2, requires_grad=True)
s = torch.ones(2, requires_grad=True)
y = Scale.apply(x, s)
g = torch.autograd.grad(y.sum(), s)
""",
    ),
    Case(
        "a Function that returns None sometimes",
        """
import torch

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, *grads):
        return None if grads[0].sum() > 0 else grads[0]

x = torch.ones(2, requires_grad=True)
h = x * 3
loss = Round.apply(h).sum()
g = torch.autograd.grad(loss, h)
""",
        "unused input: no gradient passed",
        (
            "A path leads from loss to h",
            "custom Function Round",
        ),
        "Return a gradient from Round.backward",
        """
import torch

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, *grads):
        return grads[0]

x = torch.ones(2, requires_grad=True)
h = x * 3
loss = Round.apply(h).sum()
g = torch.autograd.grad(loss, h)
""",
    ),
]

CASES = [*NOT_SCALAR, *UNUSED, *NOT_REQUIRED, *MORE]
