"""Programs with factors whose sizes do not fit, in a layer, ``@`` or related operators."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\n"

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        h = self.conv(x).relu().flatten(1)
        return self.fc(h)

net = Net()
out = net(torch.randn(4, 3, 8, 8))
"""

CASES = [
    Case(
        "a layer of a Sequential",
        BEGIN
        + "net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(64, 10))\nout = net(torch.randn(32, 784))",
        "shapes: features of a layer",
        (
            "net.2 (Linear) on line 4 (out = net(torch.randn(32, 784))) takes 64 features",
            "the result of relu on line 4, has 128: its sizes are [32, 128], those of net.2.weight [10, 64]",
            "net.0 (Linear) gives 128",
        ),
        "Make net.2 take 128 features: write nn.Linear(128, 10) instead of nn.Linear(64, 10) on line 3",
        BEGIN
        + "net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))\nout = net(torch.randn(32, 784))",
    ),
    Case(
        "a layer of the user's module",
        NET,
        "shapes: features of a layer",
        ("fc (Linear) on line 12 (return self.fc(h)) takes 512 features, but its input h has 288",),
        "nn.Linear(288, 10) instead of nn.Linear(512, 10) on line 8",
        NET.replace("512", "288"),
    ),
    Case(
        "flatten is missing",
        BEGIN + "fc = nn.Linear(in_features=48, out_features=2)\nimage = torch.zeros(5, 3, 4, 4)\ny = fc(image)",
        "shapes: features of a layer",
        ("fc (Linear) on line 5 (y = fc(image)) takes 48 features, but its input image has 4",),
        "Flatten image before line 5: image.flatten(1) has 48 features",
        BEGIN
        + "fc = nn.Linear(in_features=48, out_features=2)\nimage = torch.zeros(5, 3, 4, 4)\ny = fc(image.flatten(1))",
    ),
    Case(
        "linear without a module",
        BEGIN + "w = torch.ones(5, 2)\nx = torch.ones(3, 5)\ny = nn.functional.linear(x, w)",
        "shapes: features of a layer",
        ("linear on line 5", "takes 2 features, but its input x has 5"),
        "Pass w.T",
        BEGIN + "w = torch.ones(5, 2)\nx = torch.ones(3, 5)\ny = nn.functional.linear(x, w.T)",
    ),
    Case(
        "two matrices",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(4, 3)\nc = a @ b",
        "shapes: factors",
        ("matmul on line 5 (c = a @ b) multiplies a [2, 3] by b [4, 3]: a has 3 columns and b has 4 rows",),
        "Transpose b: b.T",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(4, 3)\nc = a @ b.T",
    ),
    Case(
        "attention scores",
        BEGIN + "q = torch.ones(2, 5, 8)\nk = torch.ones(2, 5, 8)\ns = torch.softmax(q @ k, -1)",
        "shapes: factors",
        ("multiplies q [2, 5, 8] by k [2, 5, 8]: q has 8 columns and k has 5 rows",),
        "Transpose k: k.transpose(-2, -1)",
        BEGIN + "q = torch.ones(2, 5, 8)\nk = torch.ones(2, 5, 8)\ns = torch.softmax(q @ k.transpose(-2, -1), -1)",
    ),
    Case(
        "batches",
        BEGIN + "a = torch.ones(2, 3, 4)\nb = torch.ones(3, 4, 6)\ny = torch.bmm(a, b)",
        "shapes: factors",
        ("bmm on line 5", "the sizes of their batches, [2] and [3], must be equal"),
        "Change the sizes of a or of b",
        fixed=("ones(3, 4, 6)", "ones(2, 4, 6)"),
    ),
    Case(
        "batches of matmul",
        BEGIN + "a = torch.ones(2, 3, 4)\nb = torch.ones(3, 4, 6)\ny = a.matmul(b)",
        "shapes: factors",
        ("matmul on line 5", "the sizes of their batches, [2] and [3], must be equal"),
        "Change the sizes of a or of b",
        fixed=("ones(3, 4, 6)", "ones(2, 4, 6)"),
    ),
    Case(
        "a matrix and a vector",
        BEGIN + "m = torch.ones(3, 4)\nv = torch.ones(3)\ny = torch.mv(m, v)",
        "shapes: factors",
        ("mv on line 5", "m has 4 columns and v has 3 elements"),
        "Transpose m: m.T",
        BEGIN + "m = torch.ones(3, 4)\nv = torch.ones(3)\ny = torch.mv(m.T, v)",
    ),
    Case(
        "addmm",
        BEGIN + "b = torch.ones(4)\nx = torch.ones(2, 3)\nw = torch.ones(4, 5)\ny = torch.addmm(b, x, w)",
        "shapes: factors",
        ("addmm on line 6", "multiplies x [2, 3] by w [4, 5]: x has 3 columns and w has 4 rows"),
        "Change the sizes of x or of w",
        fixed=("w = torch.ones(4, 5)", "w = torch.ones(3, 4)"),
    ),
    Case(
        "dot",
        BEGIN + "a = torch.ones(3)\nb = torch.ones(4)\ny = torch.dot(a, b)",
        "shapes: factors",
        ("dot on line 5", "a has 3 elements and b has 4 elements"),
        "Change the sizes",
        fixed=("ones(4)", "ones(3)"),
    ),
    Case(
        "in the backward of a Function",
        """
        import torch

        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                return g @ b, a @ g

        a = torch.ones(2, 3, requires_grad=True)
        b = torch.ones(3, 4, requires_grad=True)
        Product.apply(a, b).sum().backward()
        """,
        "shapes: factors",
        ("matmul on line 12 (return g @ b, a @ g) multiplies", "by b [3, 4]", "has 4 columns and b has 3 rows"),
        "Transpose b: b.T",
        fixed=("g @ b, a @ g", "g @ b.T, a.T @ g"),
    ),
    Case(
        "einsum",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(4, 5)\nc = torch.einsum('ij,jk->ik', a, b)",
        "shapes: einsum",
        ("einsum on line 5", "gives the subscript j the size 4 in b [4, 5], but 3 before"),
        "Give the dimensions that share j equal sizes",
        fixed=("ones(4, 5)", "ones(3, 5)"),
    ),
    Case(
        "einsum of a batch",
        BEGIN + "q = torch.ones(2, 5, 8)\nk = torch.ones(3, 5, 8)\ns = torch.einsum('bqd,bkd->bqk', q, k)",
        "shapes: einsum",
        ("gives the subscript b the size 3 in k [3, 5, 8], but 2 before",),
        "Give the dimensions that share b equal sizes",
        fixed=("ones(3, 5, 8)", "ones(2, 5, 8)"),
    ),
    Case(
        "einsum of a diagonal",
        BEGIN + "v = torch.ones(3)\nm = torch.ones(4, 3)\nd = torch.einsum('i,ij->j', v, m)",
        "shapes: einsum",
        ("gives the subscript i the size 4 in m [4, 3], but 3 before",),
        "or use another letter",
        BEGIN + "v = torch.ones(3)\nm = torch.ones(4, 3)\nd = torch.einsum('j,ij->i', v, m)",
    ),
    Case(
        "mm of a vector",
        BEGIN + "a = torch.ones(3)\nb = torch.ones(3, 2)\ny = torch.mm(a, b)",
        "shapes: dimensions of a factor",
        ("mm on line 5", "takes tensors with two dimensions, but a has one dimension"),
        "Use matmul (@)",
        BEGIN + "a = torch.ones(3)\nb = torch.ones(3, 2)\ny = a @ b",
    ),
    Case(
        "mm of a batch",
        BEGIN + "a = torch.ones(3, 2)\nb = torch.ones(5, 2, 3)\ny = a.mm(b)",
        "shapes: dimensions of a factor",
        ("mm on line 5", "but b has three dimensions"),
        "Use matmul (@)",
        BEGIN + "a = torch.ones(3, 2)\nb = torch.ones(5, 2, 3)\ny = a.matmul(b)",
    ),
    Case(
        "bmm of a matrix",
        BEGIN + "a = torch.ones(2, 3, 4)\nb = torch.ones(4, 6)\ny = torch.bmm(a, b)",
        "shapes: dimensions of a factor",
        ("bmm on line 5", "takes tensors with three dimensions, but b has two dimensions"),
        "Use matmul (@)",
        BEGIN + "a = torch.ones(2, 3, 4)\nb = torch.ones(4, 6)\ny = a @ b",
    ),
]
