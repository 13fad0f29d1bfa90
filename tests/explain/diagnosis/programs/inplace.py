"""Programs with in-place writes that PyTorch rejects: the tensor, the reason and the fix."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TORCH = "import torch\n"
LEAF = TORCH + "w = torch.zeros(3, requires_grad=True)\n"
LINEAR = "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nnet(torch.ones(4, 2)).sum().backward()\n"
EMBEDDING = "import torch\nfrom torch import nn\nemb = nn.Embedding(3, 2)\n"

LEAVES = [
    Case(
        "+= on a leaf",
        LEAF + "w += 1",
        "in-place write: a leaf",
        ("w (line 2) is a leaf that requires grad, and line 3 (w += 1) writes to it in place with add_",),
        "with torch.no_grad()",
        LEAF + "with torch.no_grad():\n    w += 1",
    ),
    Case(
        "parameters updated by hand",
        LINEAR + "for p in net.parameters():\n    p -= 0.1 * p.grad",
        "in-place write: a leaf",
        ("net.weight (line 3) is a leaf", "line 6 (p -= 0.1 * p.grad)", "sub_"),
        "put line 6 (p -= 0.1 * p.grad) into a block `with torch.no_grad():`",
        LINEAR + "with torch.no_grad():\n    for p in net.parameters():\n        p -= 0.1 * p.grad",
    ),
    Case(
        "a leaf that is initialized",
        LEAF + "b = torch.ones(3)\nw.copy_(b)",
        "in-place write: a leaf",
        ("w (line 2) is a leaf", "line 4 (w.copy_(b))", "copy_"),
        "with torch.no_grad()",
        LEAF + "b = torch.ones(3)\nwith torch.no_grad():\n    w.copy_(b)",
    ),
    Case(
        "an element of a leaf",
        LEAF + "w[0] = 2",
        "in-place write: a view of a leaf",
        ("Line 3 (w[0] = 2) writes in place to a view of w (line 2), a leaf that requires grad",),
        "with torch.no_grad()",
        LEAF + "with torch.no_grad():\n    w[0] = 2",
    ),
    Case(
        "a row of an embedding",
        EMBEDDING + "emb.weight[0].fill_(0.0)",
        "in-place write: a view of a leaf",
        ("a view of emb.weight (line 3), a leaf that requires grad", "fill_(0.0)"),
        "with torch.no_grad()",
        EMBEDDING + "with torch.no_grad():\n    emb.weight[0].fill_(0.0)",
    ),
    Case(
        "a view of a view of a leaf",
        TORCH + "w = torch.ones(4, requires_grad=True)\nm = w.view(2, 2).t()\nm.mul_(2)",
        "in-place write: a view of a leaf",
        ("writes in place to m. m (line 3) is a view of w (line 2), a leaf",),
        "with torch.no_grad()",
        TORCH + "w = torch.ones(4, requires_grad=True)\nm = w.view(2, 2).t()\nwith torch.no_grad():\n    m.mul_(2)",
    ),
    Case(
        "an expanded leaf",
        TORCH + "x = torch.ones(1, requires_grad=True)\ny = x.expand(3)\ny[0] = 2",
        "in-place write: a view of a leaf",
        (
            "a view of y. y (line 3) is a view of x (line 2), a leaf",
            "y has 3 elements in the memory of 1: expand on line 3",
        ),
        "y = x.expand(3).clone()",
        TORCH + "x = torch.ones(1, requires_grad=True)\ny = x.expand(3).clone()\ny[0] = 2",
    ),
]

EXPANDED = [
    Case(
        "an expanded tensor",
        TORCH + "x = torch.ones(3, 1)\ny = x.expand(3, 4)\ny += 1",
        "in-place write: an expanded tensor",
        ("Line 4 (y += 1) writes in place to y.", "y has 12 elements in the memory of 3: expand on line 3"),
        "y = y.clone() before line 4",
        TORCH + "x = torch.ones(3, 1)\ny = x.expand(3, 4)\ny = y.clone()\ny += 1",
    ),
    Case(
        "an expanded result",
        TORCH + "x = torch.ones(2, requires_grad=True)\ny = (x * 2).expand(3, 2)\ny.mul_(2)",
        "in-place write: an expanded tensor",
        ("y has 6 elements in the memory of 2",),
        "y = y.clone() before line 4",
        TORCH + "x = torch.ones(2, requires_grad=True)\ny = (x * 2).expand(3, 2)\ny = y.clone()\ny.mul_(2)",
    ),
    Case(
        "broadcast_to",
        TORCH + "row = torch.zeros(1, 4)\ngrid = row.broadcast_to(3, 4)\ngrid.add_(torch.ones(3, 4))",
        "in-place write: an expanded tensor",
        ("grid has 12 elements in the memory of 4: broadcast_to on line 3",),
        "grid = grid.clone() before line 4",
        TORCH + "row = torch.zeros(1, 4)\ngrid = row.broadcast_to(3, 4).clone()\ngrid.add_(torch.ones(3, 4))",
    ),
]

RESULT = TORCH + "x = torch.ones(4, 2, requires_grad=True)\ny = x * 2\n"

SEVERAL = [
    Case(
        "unbind",
        RESULT + "a, b, c, d = y.unbind(0)\na += 1",
        "in-place write: one of several views",
        ("a is an output of unbind on line 4", "several views of y at once", "Line 5 (a += 1) writes to a in place"),
        "a = a + 1",
        RESULT + "a, b, c, d = y.unbind(0)\na = a + 1",
    ),
    Case(
        "chunk, of a list",
        RESULT + "parts = y.chunk(2)\nparts[0].mul_(2)",
        "in-place write: one of several views",
        ("parts[0] is an output of chunk on line 4 (parts = y.chunk(2))", "with mul_"),
        "parts[0].clone()",
        RESULT + "parts = y.chunk(2)\nfirst = parts[0].clone()\nfirst.mul_(2)",
    ),
    Case(
        "split, in a loop",
        RESULT + "for row in y.split(2):\n    row.zero_()",
        "in-place write: one of several views",
        ("row is an output of split on line 4", "Line 5 (row.zero_())"),
        "row.clone()",
        RESULT + "for start in (0, 2):\n    row = y[start : start + 2]\n    row.zero_()",
    ),
]

FUNCTION = """
import torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return RETURNED

    @staticmethod
    def backward(ctx, *grads):
        return BACKWARD

x = torch.ones(2, requires_grad=True)
"""
VIEW = FUNCTION.replace("BACKWARD", "grads[0].view(2)")
SAME = FUNCTION.replace("BACKWARD", "grads[0] * 2")
TWO = FUNCTION.replace("RETURNED", "x[:1], x[1:]").replace("BACKWARD", "torch.cat(grads)")

FUNCTIONS = [
    Case(
        "a view made by a Function",
        VIEW.replace("RETURNED", "x.view(1, 2)") + "y = Half.apply(x * 2)\ny += 1",
        "in-place write: a view of a custom Function",
        (
            "y is a view that the custom Function Half returned on line 13",
            "line 14 (y += 1)",
            "Half.backward would not",
        ),
        "Return a copy from Half.forward",
        VIEW.replace("RETURNED", "x.view(1, 2).clone()") + "y = Half.apply(x * 2)\ny += 1",
        torch_why=("y is a view that the custom Function Half returned, and line 14 (y += 1)",),
    ),
    Case(
        "an input that a Function returns",
        SAME.replace("RETURNED", "x") + "y = Half.apply(x.exp())\ny.mul_(3)",
        "in-place write: a view of a custom Function",
        ("y is a view that the custom Function Half returned on line 13", "with mul_"),
        "Return a copy from Half.forward",
        SAME.replace("RETURNED", "x.clone()") + "y = Half.apply(x.exp())\ny.mul_(3)",
        torch_why=("y is a view that the custom Function Half returned, and line 14",),
    ),
    Case(
        "a Function that returns two views",
        TWO + "a, b = Half.apply(x.exp())\na.add_(1)",
        "in-place write: one of several views",
        ("a is an output of the custom Function Half (line 6)", "Line 14 (a.add_(1))"),
        "a = a.add(1)",
        TWO + "a, b = Half.apply(x.exp())\na = a.add(1)",
    ),
]
"""Cases with Functions. A recording of an installed PyTorch has no Node of a Function until its results are used."""

NO_GRAD = [
    Case(
        "a view of a result",
        RESULT + "with torch.no_grad():\n    v = y.view(2, 4)\nv.add_(1)",
        "in-place write: a view made unrecorded",
        ("Line 5 (v = y.view(2, 4)) made v as a view of y inside torch.no_grad(), and line 6 (v.add_(1))",),
        "move line 5 out",
        RESULT + "v = y.view(2, 4)\nv.add_(1)",
    ),
    Case(
        "a view of a leaf",
        LEAF + "with torch.no_grad():\n    first = w[:2]\nfirst.zero_()",
        "in-place write: a view made unrecorded",
        ("Line 4 (first = w[:2]) made first as a view of w",),
        "Write inside of torch.no_grad(): move line 5 in",
        LEAF + "with torch.no_grad():\n    first = w[:2]\n    first.zero_()",
    ),
    Case(
        "one of several views",
        RESULT + "with torch.no_grad():\n    a, b = y.chunk(2)\na.mul_(2)",
        "in-place write: a view made unrecorded",
        ("Line 5 (a, b = y.chunk(2)) made a as a view of y",),
        "Write inside of torch.no_grad(): move line 6 in",
        RESULT + "with torch.no_grad():\n    a, b = y.chunk(2)\n    a.mul_(2)",
    ),
]

NO_GRAD.append(
    Case(
        "a view of a view of a parameter",
        EMBEDDING + "with torch.no_grad():\n    flat = emb.weight.view(-1)\nflat[0] = 1.0",
        "in-place write: a view made unrecorded",
        ("Line 5 (flat = emb.weight.view(-1)) made flat as a view of emb.weight", "line 6 (flat[0] = 1.0)"),
        "Write inside of torch.no_grad(): move line 6 in",
        EMBEDDING + "with torch.no_grad():\n    flat = emb.weight.view(-1)\n    flat[0] = 1.0",
    )
)

DETACHED = [
    Case(
        "a view of an unnamed result",
        TORCH + "x = torch.ones(4, requires_grad=True)\nv = (x * 2).view(2, 2)\nv.detach_()",
        "in-place write: a view detached",
        ("v (line 3) is a view of the result of mul on line 3, and line 4 (v.detach_())",),
        "v = v.detach()",
        TORCH + "x = torch.ones(4, requires_grad=True)\nv = (x * 2).view(2, 2)\nv = v.detach()",
    ),
    Case(
        "a slice",
        RESULT + "head = y[:2]\nhead.detach_()",
        "in-place write: a view detached",
        ("head (line 4) is a view of y, and line 5 (head.detach_())",),
        "head = head.detach()",
        RESULT + "head = y[:2]\nhead = head.detach()",
    ),
    Case(
        "a chunk",
        RESULT + "a, b = y.chunk(2)\na.detach_()",
        "in-place write: a view detached",
        ("a (line 4) is a view of y",),
        "a = a.detach()",
        RESULT + "a, b = y.chunk(2)\na = a.detach()",
    ),
]

MORE = [
    Case(
        "an element of what a Function returned",
        """
import torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.t()

    @staticmethod
    def backward(ctx, *grads):
        return grads[0].t()

x = torch.ones(2, 3, requires_grad=True)
v = Half.apply(x * 1)
v[0] = 0.0
""",
        "in-place write: a view of a custom Function",
        (
            "v is a view that the custom Function Half returned on line 13",
            "line 14 (v[0] = 0.0) writes to a view of it in place",
        ),
        ".clone() on what it returns",
        """
import torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.t().clone()

    @staticmethod
    def backward(ctx, *grads):
        return grads[0].t()

x = torch.ones(2, 3, requires_grad=True)
v = Half.apply(x * 1)
v[0] = 0.0
""",
        torch_why=("v is a view that a custom Function returned, and line 14 (v[0] = 0.0) writes to a view of it",),
    ),
]

CASES = [*LEAVES, *EXPANDED, *SEVERAL, *FUNCTIONS, *NO_GRAD, *DETACHED, *MORE]
