"""Programs that set requires_grad where it is not allowed."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

TORCH = "import torch\n"
LEAF = TORCH + "w = torch.ones(3, requires_grad=True)\n"
NET = "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\n"

INTEGERS = [
    Case(
        "a tensor of integers",
        TORCH + "w = torch.tensor([1, 2, 3], requires_grad=True)",
        "requires_grad of integers",
        ("The tensor that line 2 (w = torch.tensor([1, 2, 3], requires_grad=True)) makes has the dtype int64",),
        "dtype=torch.float32",
        TORCH + "w = torch.tensor([1, 2, 3], dtype=torch.float32, requires_grad=True)",
    ),
    Case(
        "labels",
        TORCH + "labels = torch.arange(3)\nlabels.requires_grad_()",
        "requires_grad of integers",
        ("labels (line 2) has the dtype int64", "Line 3 (labels.requires_grad_()) sets requires_grad"),
        "on line 2: dtype=torch.float32",
        TORCH + "labels = torch.arange(3, dtype=torch.float32)\nlabels.requires_grad_()",
    ),
    Case(
        "a mask",
        TORCH + "mask = torch.ones(3) > 0\nmask.requires_grad = True",
        "requires_grad of integers",
        ("mask (line 2) has the dtype bool",),
        "dtype=torch.float32",
        TORCH + "mask = (torch.ones(3) > 0).to(dtype=torch.float32)\nmask.requires_grad = True",
    ),
    Case(
        "a parameter of integers",
        "import torch\nfrom torch import nn\ntable = nn.Parameter(torch.zeros(3, dtype=torch.long))",
        "requires_grad of integers",
        ("makes has the dtype int64",),
        "on line 3: dtype=torch.float32",
        "import torch\nfrom torch import nn\ntable = nn.Parameter(torch.zeros(3, dtype=torch.float32))",
    ),
]

NOT_LEAVES = [
    Case(
        "a result",
        LEAF + "y = w * 2\ny.requires_grad = False",
        "requires_grad of a non-leaf",
        ("y is not a leaf: its grad_fn is MulBackward0, made on line 3 (y = w * 2). It requires grad because w does",),
        "y = y.detach()",
        LEAF + "y = w * 2\ny = y.detach()",
    ),
    Case(
        "an output of a module",
        NET + "out = net(torch.ones(1, 2))\nout.requires_grad_(False)",
        "requires_grad of a non-leaf",
        ("out is not a leaf: its grad_fn is AddmmBackward0, made on line 4", "net.weight and net.bias do"),
        "out = out.detach()",
        NET + "out = net(torch.ones(1, 2))\nout = out.detach()",
    ),
    Case(
        "tensors of a list",
        LEAF + "frozen = [w * 1, w + 1]\nfor t in frozen:\n    t.requires_grad = False",
        "requires_grad of a non-leaf",
        ("t is not a leaf: its grad_fn is MulBackward0, made on line 3", "Line 5 (t.requires_grad = False)"),
        "t = t.detach()",
        LEAF + "frozen = [t.detach() for t in (w * 1, w + 1)]\nfor t in frozen:\n    t.requires_grad = False",
    ),
]

OUTS = [
    Case(
        "an argument",
        LEAF + "b = torch.ones(3)\nr = torch.empty(3)\ntorch.add(w, b, out=r)",
        "out= with a tensor that requires grad",
        ("add on line 5 (torch.add(w, b, out=r)) writes its result into r (out=), and w (line 2) requires grad",),
        "r = torch.add(w, b)",
        LEAF + "b = torch.ones(3)\nr = torch.add(w, b)",
    ),
    Case(
        "the result itself",
        TORCH + "a = torch.ones(3)\nr = torch.empty(3, requires_grad=True)\ntorch.mul(a, a, out=r)",
        "out= with a tensor that requires grad",
        ("mul on line 4", "and r (line 3) requires grad"),
        "r = torch.mul(a, a)",
        TORCH + "a = torch.ones(3)\nr = torch.mul(a, a)",
    ),
    Case(
        "a result of a call",
        LEAF + "y = w * 2\nr = torch.empty(3)\ntorch.exp(y, out=r)",
        "out= with a tensor that requires grad",
        ("exp on line 5 (torch.exp(y, out=r)) writes its result into r (out=), and y (line 3) requires grad",),
        "r = torch.exp(y)",
        LEAF + "y = w * 2\nr = torch.exp(y)",
    ),
]

CASES = [*INTEGERS, *NOT_LEAVES, *OUTS]
