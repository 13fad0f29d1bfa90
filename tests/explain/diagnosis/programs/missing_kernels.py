"""Operators without a kernel for a backend, or for a dtype."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nimport torch.nn.functional as F\n"

LIBRARY = "lib = torch.library.Library('{name}', 'DEF')\nlib.define('f(Tensor x) -> Tensor')\n"

BELOW = """
def below(x):
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.again.f(x)

lib.impl("f", below, "Autograd")
"""

CASES = [
    Case(
        "a kernel for CUDA alone",
        BEGIN
        + LIBRARY.format(name="dgn1")
        + "lib.impl('f', lambda x: x, 'CUDA')\nx = torch.ones(2)\ny = torch.ops.dgn1.f(x)",
        "no kernel: backend",
        (
            "dgn1::f on line 7 (y = torch.ops.dgn1.f(x)) has no kernel for CPU, the backend of x",
            "It has kernels for CUDA",
        ),
        "Register a kernel for CPU, as on line 5",
        fixed=("'CUDA')", "'CPU')"),
    ),
    Case(
        "no kernel at all",
        BEGIN + LIBRARY.format(name="dgn2") + "x = torch.ones(2, requires_grad=True)\ny = torch.ops.dgn2.f(x)",
        "no kernel: backend",
        ("dgn2::f on line 6", "has no kernel for CPU, the backend of x"),
        "Library.impl('f', function, 'CPU')",
        fixed=("x = torch.ones(2, requires_grad=True)", "lib.impl('f', lambda x: x * 2, 'CPU')\nx = torch.ones(2)"),
    ),
    Case(
        "a kernel for the CPU and an argument on meta",
        BEGIN
        + LIBRARY.format(name="dgn3")
        + "lib.impl('f', lambda x: x, 'CPU')\nx = torch.ones(2, device='meta')\ny = torch.ops.dgn3.f(x)",
        "no kernel: backend",
        ("dgn3::f on line 7", "has no kernel for Meta, the backend of x"),
        "Register a kernel for Meta, as on line 5",
        fixed=("'CPU')", "'Meta')"),
    ),
    Case(
        "softmax of integers",
        BEGIN + "x = torch.tensor([1, 2, 3])\ny = F.softmax(x, 0)",
        "no kernel: dtype",
        ("softmax on line 4 (y = F.softmax(x, 0)) has no kernel for int64 on cpu, and x is int64",),
        "Convert x: x.float()",
        BEGIN + "x = torch.tensor([1, 2, 3])\ny = F.softmax(x.float(), 0)",
    ),
    Case(
        "svd in half precision",
        BEGIN + "m = torch.ones(2, 2, dtype=torch.float16)\ny = torch.linalg.svd(m)",
        "no kernel: dtype",
        ("linalg.svd on line 4", "has no kernel for float16 on cpu, and m is float16"),
        "Convert m: m.float()",
        BEGIN + "m = torch.ones(2, 2, dtype=torch.float16)\ny = torch.linalg.svd(m.float())",
    ),
    Case(
        "random integers",
        BEGIN + "x = torch.randn(3, dtype=torch.long)",
        "no kernel: dtype",
        ("randn on line 3 (x = torch.randn(3, dtype=torch.long)) has no kernel for int64",),
        "Request another dtype than int64 on line 3",
        BEGIN + "x = torch.randn(3)",
    ),
    Case(
        "the largest complex number",
        BEGIN + "z = torch.tensor([1 + 1j, 2])\ny = z.max()",
        "no kernel: dtype",
        ("max on line 4 (y = z.max()) has no kernel for complex64 on cpu, and z is complex64",),
        "z.real, z.imag or z.abs()",
        BEGIN + "z = torch.tensor([1 + 1j, 2])\ny = z.abs().max()",
    ),
    Case(
        "floor of complex numbers",
        BEGIN + "z = torch.tensor([1 + 1j])\ny = torch.floor(z)",
        "no kernel: dtype",
        ("floor on line 4", "does not take complex64, and z is complex64"),
        "z.real, z.imag or z.abs()",
        BEGIN + "z = torch.tensor([1 + 1j])\ny = torch.floor(z.real)",
    ),
    Case(
        "inverse in half precision",
        BEGIN + "m = torch.eye(2, dtype=torch.float16)\ny = torch.linalg.inv(m)",
        "no kernel: dtype",
        ("linalg.inv on line 4", "does not take float16, and m is float16"),
        "Convert m: m.float()",
        BEGIN + "m = torch.eye(2)\ny = torch.linalg.inv(m)",
    ),
    Case(
        "an autograd kernel",
        """
import torch
lib = torch.library.Library("again", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x * 2, "CPU")
lib.impl("f", lambda x: torch.ops.again.f(x), "Autograd")
torch.ops.again.f(torch.ones(2))
""",
        "kernel calls its operator again",
        (
            "The kernel of again::f at AutogradCPU calls again::f again on line 5",
            "AutogradCPU is the highest key each time",
        ),
        "a guard that excludes AutogradCPU",
        fixed=(
            'lib.impl("f", lambda x: torch.ops.again.f(x), "Autograd")',
            BELOW,
        ),
    ),
    Case(
        "a kernel for the CPU",
        """
import torch
lib = torch.library.Library("third", "DEF")
lib.define("g(Tensor x) -> Tensor")

def g(x):
    return torch.ops.third.g(x * 2)

lib.impl("g", g, "CPU")
torch.ops.third.g(torch.ones(2))
""",
        "kernel calls its operator again",
        ("The kernel of third::g at CPU calls third::g again on line 6",),
        "with other operators",
        fixed=("torch.ops.third.g(x * 2)\n\nlib", "x * 2\n\nlib"),
    ),
    Case(
        "a kernel for relu",
        """
import torch
lib = torch.library.Library("aten", "IMPL")

def relu(x):
    return torch.relu(x) * 1

lib.impl("relu", relu, "CPU")
torch.relu(torch.ones(2))
""",
        "kernel calls its operator again",
        ("The kernel of aten::relu at CPU calls aten::relu again on line 5",),
        "with other operators",
        fixed=("torch.relu(x) * 1", "torch.clamp(x, 0)"),
    ),
]

ON_PYTORCH = [
    Case(
        "sigmoid of a sparse tensor",
        BEGIN + "x = torch.ones(3).to_sparse()\ny = torch.sigmoid(x)",
        "no kernel: backend",
        ("sigmoid on line 4 (y = torch.sigmoid(x)) has no kernel for SparseCPU, the backend of x",),
        "x.to_dense()",
        BEGIN + "x = torch.ones(3).to_sparse()\ny = torch.sigmoid(x.to_dense())",
    ),
]
"""Programs for an installed PyTorch only, because the model has no sparse tensors."""
