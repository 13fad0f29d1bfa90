"""Arguments whose dtypes differ or do not fit the operator."""

from __future__ import annotations

import pytest

from tests.explain.diagnosis.cases import Case, check

BEGIN = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

CASES = [
    Case(
        "a layer and integers",
        BEGIN + "net = nn.Linear(2, 1)\ny = net(torch.tensor([[1, 2]]))",
        "dtypes: arguments differ",
        ("net (Linear) on line 5", "the result of torch.tensor on line 5 is int64 and net.weight is float32"),
        "Create the input with dtype=torch.float32, the dtype of net (Linear), on line 5",
        BEGIN + "net = nn.Linear(2, 1)\ny = net(torch.tensor([[1, 2]], dtype=torch.float32))",
    ),
    Case(
        "a layer and float64",
        BEGIN
        + "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())\nx = torch.zeros(1, 2, dtype=torch.float64)\ny = net(x)",
        "dtypes: arguments differ",
        ("net.0 (Linear) on line 6 (y = net(x))", "x is float64 and net.0.weight is float32"),
        "Convert x to float32, the dtype of net.0 (Linear), on line 6: x.to(torch.float32)",
        BEGIN + "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())\nx = torch.zeros(1, 2, dtype=torch.float64)\n"
        "y = net(x.float())",
    ),
    Case(
        "a layer in half precision",
        BEGIN + "fc = nn.Linear(2, 2).half()\nx = torch.ones(1, 2)\ny = fc(x)",
        "dtypes: arguments differ",
        ("fc (Linear) on line 6 (y = fc(x))", "x is float32 and fc.weight is float16"),
        "Convert x to float16",
        BEGIN + "fc = nn.Linear(2, 2).half()\nx = torch.ones(1, 2)\ny = fc(x.half())",
    ),
    Case(
        "two matrices",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(3, 2, dtype=torch.float64)\nc = a @ b",
        "dtypes: arguments differ",
        ("matmul on line 6 (c = a @ b)", "a is float32 and b is float64"),
        "Convert b to float32, as a, on line 6",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(3, 2, dtype=torch.float64)\nc = a @ b.to(torch.float32)",
    ),
    Case(
        "a matrix and integers",
        BEGIN + "m = torch.ones(3, 4)\nv = torch.ones(4, dtype=torch.long)\ny = m @ v",
        "dtypes: arguments differ",
        ("m is float32 and v is int64",),
        "Create v as float32, as m, on line 5",
        BEGIN + "m = torch.ones(3, 4)\nv = torch.ones(4)\ny = m @ v",
    ),
    Case(
        "dot",
        BEGIN + "a = torch.ones(3)\nb = torch.arange(3)\ny = torch.dot(a, b)",
        "dtypes: arguments differ",
        ("dot on line 6", "a is float32 and b is int64"),
        "Create b as float32",
        BEGIN + "a = torch.ones(3)\nb = torch.arange(3.0)\ny = torch.dot(a, b)",
    ),
    Case(
        "a convolution",
        BEGIN + "conv = nn.Conv2d(1, 2, 3)\nimage = torch.zeros(1, 1, 5, 5, dtype=torch.uint8)\ny = conv(image)",
        "dtypes: arguments differ",
        ("conv (Conv2d) on line 6", "image is uint8 and conv.weight is float32"),
        "Create image as float32, the dtype of conv (Conv2d), on line 5",
        BEGIN + "conv = nn.Conv2d(1, 2, 3)\nimage = torch.zeros(1, 1, 5, 5, dtype=torch.float32)\ny = conv(image)",
    ),
    Case(
        "a loss",
        BEGIN + "p = torch.full((3,), 0.5)\nt = torch.tensor([0, 1, 1])\nl = F.binary_cross_entropy(p, t)",
        "dtypes: arguments differ",
        ("binary_cross_entropy on line 6", "p is float32 and t is int64"),
        "Create t as float32",
        BEGIN + "p = torch.full((3,), 0.5)\nt = torch.tensor([0.0, 1, 1])\nl = F.binary_cross_entropy(p, t)",
    ),
    Case(
        "index_put",
        BEGIN + "x = torch.zeros(3)\nx[torch.tensor([0, 1])] = torch.ones(2, dtype=torch.float64)",
        "dtypes: arguments differ",
        ("index_put_ on line 5", "x is float32 and the result of ones on line 5 is float64"),
        "Convert the value to float32, as x, on line 5",
        BEGIN + "x = torch.zeros(3)\nx[torch.tensor([0, 1])] = torch.ones(2, dtype=torch.float64).to(torch.float32)",
    ),
    Case(
        "a counter",
        BEGIN + "count = torch.zeros(3, dtype=torch.long)\nx = torch.ones(3)\ncount += x",
        "dtypes: result of an in-place operator",
        ("add_ on line 6 (count += x)", "count is int64 and x is float32, so the result is float32"),
        "Create count as float32 on line 4",
        BEGIN + "count = torch.zeros(3, dtype=torch.float32)\nx = torch.ones(3)\ncount += x",
    ),
    Case(
        "a division",
        BEGIN + "n = torch.tensor([1, 2])\nn /= 2",
        "dtypes: result of an in-place operator",
        ("div_ on line 5 (n /= 2)", "n is int64, so the result is float32"),
        "Create n as float32 on line 4",
        BEGIN + "n = torch.tensor([1.0, 2])\nn /= 2",
    ),
    Case(
        "a mask",
        BEGIN + "mask = torch.ones(3, dtype=torch.bool)\nmask.mul_(torch.arange(3))",
        "dtypes: result of an in-place operator",
        ("mul_ on line 5", "mask is bool and the result of arange on line 5 is int64, so the result is int64"),
        "Create mask as int64 on line 4",
        BEGIN + "mask = torch.ones(3, dtype=torch.long)\nmask.mul_(torch.arange(3))",
    ),
    Case(
        "embedding",
        BEGIN + "emb = nn.Embedding(10, 3)\nx = torch.tensor([1., 2.])\ny = emb(x)",
        "dtypes: indices",
        ("emb (Embedding) on line 6 (y = emb(x)) takes indices of dtype int64 or int32, but x is float32",),
        "Convert x: x.long()",
        BEGIN + "emb = nn.Embedding(10, 3)\nx = torch.tensor([1., 2.])\ny = emb(x.long())",
    ),
    Case(
        "an index tensor",
        BEGIN + "x = torch.ones(3)\ni = torch.tensor([0., 1.])\ny = x[i]",
        "dtypes: indices",
        ("index on line 6 (y = x[i])", "but i is float32"),
        "Convert i: i.long()",
        BEGIN + "x = torch.ones(3)\ni = torch.tensor([0., 1.])\ny = x[i.long()]",
    ),
    Case(
        "gather",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.zeros(2, 1)\ny = x.gather(1, i)",
        "dtypes: indices",
        ("gather on line 6", "but i is float32"),
        "Convert i: i.long()",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.zeros(2, 1)\ny = x.gather(1, i.long())",
    ),
    Case(
        "targets as floats",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1., 2., 3.])\nl = F.cross_entropy(logits, y)",
        "dtypes: targets",
        ("cross_entropy on line 6", "takes targets of dtype int64 (class indices), but y is float32"),
        "Convert y: y.long()",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1., 2., 3.])\nl = F.cross_entropy(logits, y.long())",
    ),
    Case(
        "targets as int32",
        BEGIN
        + "logits = torch.ones(3, 5)\ny = torch.zeros(3, dtype=torch.int32)\nl = nn.CrossEntropyLoss()(logits, y)",
        "dtypes: targets",
        ("but y is int32",),
        "or create it so on line 5",
        BEGIN
        + "logits = torch.ones(3, 5)\ny = torch.zeros(3, dtype=torch.int64)\nl = nn.CrossEntropyLoss()(logits, y)",
    ),
    Case(
        "targets of nll_loss",
        BEGIN + "lp = torch.ones(2, 3)\nt = torch.zeros(2)\nl = F.nll_loss(lp, t)",
        "dtypes: targets",
        ("nll_loss on line 6", "but t is float32"),
        "Convert t: t.long()",
        BEGIN + "lp = torch.ones(2, 3)\nt = torch.zeros(2)\nl = F.nll_loss(lp, t.long())",
    ),
    Case(
        "mean of integers",
        BEGIN + "x = torch.tensor([1, 2, 3])\nm = x.mean()",
        "dtypes: floating point",
        ("mean on line 5", "but x is int64"),
        "Convert x: x.float()",
        BEGIN + "x = torch.tensor([1, 2, 3])\nm = x.float().mean()",
    ),
    Case(
        "inverse of integers",
        BEGIN + "a = torch.tensor([[1, 2], [3, 4]])\nb = torch.linalg.inv(a)",
        "dtypes: floating point",
        ("linalg.inv on line 5", "but a is int64"),
        "Convert a: a.float()",
        BEGIN + "a = torch.tensor([[1, 2], [3, 4]])\nb = torch.linalg.inv(a.float())",
    ),
    Case(
        "mean of a mask",
        BEGIN + "p = torch.arange(4)\naccuracy = (p == 2).mean()",
        "dtypes: floating point",
        ("mean on line 5", "but the result of eq on line 5 is bool"),
        "Convert the tensor: .float()",
        BEGIN + "p = torch.arange(4)\naccuracy = (p == 2).float().mean()",
    ),
    Case(
        "masked_fill",
        BEGIN + "x = torch.ones(3)\nm = torch.tensor([1, 0, 1])\ny = x.masked_fill(m, 0.0)",
        "dtypes: mask",
        ("masked_fill on line 6", "takes a mask of dtype bool, but m is int64"),
        "Convert m: m.bool()",
        BEGIN + "x = torch.ones(3)\nm = torch.tensor([1, 0, 1])\ny = x.masked_fill(m.bool(), 0.0)",
    ),
    Case(
        "where",
        BEGIN + "c = torch.tensor([1, 0])\ny = torch.where(c, 1.0, 0.0)",
        "dtypes: mask",
        ("where on line 5", "takes a mask of dtype bool, but c is int64"),
        "Convert c: c.bool()",
        BEGIN + "c = torch.tensor([1, 0])\ny = torch.where(c.bool(), 1.0, 0.0)",
    ),
    Case(
        "an attention mask",
        BEGIN + "scores = torch.ones(2, 3)\npad = torch.ones(2, 3)\ny = scores.masked_fill_(pad, -1e9)",
        "dtypes: mask",
        ("takes a mask of dtype bool, but pad is float32",),
        "Convert pad: pad.bool()",
        BEGIN + "scores = torch.ones(2, 3)\npad = torch.ones(2, 3)\ny = scores.masked_fill_(pad.bool(), -1e9)",
    ),
    Case(
        "difference of masks",
        BEGIN + "a = torch.tensor([True, False])\nb = torch.tensor([True, True])\nc = a - b",
        "dtypes: arithmetic of bool",
        ("sub on line 6 (c = a - b) does not take bool tensors",),
        "Use ^",
        BEGIN + "a = torch.tensor([True, False])\nb = torch.tensor([True, True])\nc = a ^ b",
    ),
    Case(
        "negative mask",
        BEGIN + "mask = torch.ones(2) > 0\nc = -mask",
        "dtypes: arithmetic of bool",
        ("neg on line 5 (c = -mask) does not take bool tensors: mask is bool",),
        "Use ~",
        BEGIN + "mask = torch.ones(2) > 0\nc = ~mask",
    ),
    Case(
        "one minus a mask",
        BEGIN + "mask = torch.ones(2, dtype=torch.bool)\nc = 1 - mask",
        "dtypes: arithmetic of bool",
        ("rsub on line 5 (c = 1 - mask) does not take bool tensors: mask is bool",),
        "Use ~",
        BEGIN + "mask = torch.ones(2, dtype=torch.bool)\nc = ~mask",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_model(case: Case) -> None:
    check(case, "model")


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_an_installed_pytorch(case: Case) -> None:
    check(case, "torch")
