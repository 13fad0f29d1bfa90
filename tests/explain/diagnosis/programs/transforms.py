"""Programs that functorch rejects."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch.func import grad, vmap\n"

CASES = [
    Case(
        "item",
        BEGIN + "def f(x):\n    return x.item() * 2\nys = vmap(f)(torch.ones(3))",
        "vmap: item",
        ("Line 4 (return x.item() * 2), which vmap calls on line 5", "asks for x as one Python number"),
        "Remove .item()",
        BEGIN + "def f(x):\n    return x * 2\nys = vmap(f)(torch.ones(3))",
    ),
    Case(
        "item of a sum",
        BEGIN
        + "def scale(row):\n    total = row.sum()\n    return row / total.item()\nys = vmap(scale)(torch.ones(3, 2))",
        "vmap: item",
        ("Line 5 (return row / total.item())", "asks for total as one Python number"),
        "Remove .item()",
        BEGIN + "def scale(row):\n    total = row.sum()\n    return row / total\nys = vmap(scale)(torch.ones(3, 2))",
    ),
    Case(
        "item in a lambda",
        BEGIN + "xs = torch.ones(3)\nys = vmap(lambda x: x.item())(xs)",
        "vmap: item",
        ("asks for x as one Python number",),
        "Remove .item()",
        fixed=("x.item()", "x * 1"),
    ),
    Case(
        "if",
        BEGIN + "def f(x):\n    if x.sum() > 0:\n        return x\n    return -x\nys = vmap(f)(torch.ones(3, 2))",
        "vmap: control flow",
        ("Line 4 (if x.sum() > 0:), which vmap calls on line 7", "chooses a branch by a tensor"),
        "torch.where(condition, a, b)",
        BEGIN + "def f(x):\n    return torch.where(x.sum() > 0, x, -x)\nys = vmap(f)(torch.ones(3, 2))",
    ),
    Case(
        "while",
        BEGIN + "def halve(x):\n    while x > 1:\n        x = x / 2\n    return x\nys = vmap(halve)(torch.arange(3.0))",
        "vmap: control flow",
        ("Line 4 (while x > 1:)",),
        "torch.where(condition, a, b)",
        fixed=("    while x > 1:\n        x = x / 2\n    return x", "    return torch.where(x > 1, x / 2, x)"),
    ),
    Case(
        "and",
        BEGIN + "def f(x):\n    return x if x > 0 and x < 1 else x * 0\nys = vmap(f)(torch.ones(3))",
        "vmap: control flow",
        ("Line 4 (return x if x > 0 and x < 1 else x * 0)",),
        "torch.where(condition, a, b)",
        fixed=("x if x > 0 and x < 1 else x * 0", "torch.where((x > 0) & (x < 1), x, x * 0)"),
    ),
    Case(
        "an input that is not mapped",
        BEGIN + "def f(x, y):\n    x.add_(y)\n    return x\na = torch.zeros(2)\nb = torch.ones(3, 2)\n"
        "out = vmap(f, in_dims=(None, 0))(a, b)",
        "vmap: in place",
        (
            "add_ on line 4 (x.add_(y)), which vmap calls on line 8",
            "writes in place into a [2], which vmap does not batch",
        ),
        "add instead of add_",
        BEGIN + "def f(x, y):\n    return x.add(y)\na = torch.zeros(2)\nb = torch.ones(3, 2)\n"
        "out = vmap(f, in_dims=(None, 0))(a, b)",
    ),
    Case(
        "a tensor from outside",
        BEGIN
        + "total = torch.zeros(3)\ndef f(x):\n    total.add_(x)\n    return total * 1\nout = vmap(f)(torch.ones(2, 3))",
        "vmap: in place",
        ("writes in place into total [3], which vmap does not batch",),
        "add instead of add_",
        fixed=("    total.add_(x)\n    return total * 1", "    return total.add(x) * 1"),
    ),
    Case(
        "a new tensor",
        BEGIN + "def f(x):\n    out = torch.zeros(3)\n    out.mul_(x)\n    return out\nys = vmap(f)(torch.ones(2, 3))",
        "vmap: in place",
        ("mul_ on line 5 (out.mul_(x))", "writes in place into out [3], which vmap does not batch"),
        "mul instead of mul_",
        BEGIN + "def f(x):\n    out = torch.zeros(3)\n    return out.mul(x)\nys = vmap(f)(torch.ones(2, 3))",
    ),
    Case(
        "random numbers",
        BEGIN + "def f(x):\n    return x + torch.randn(2)\nout = vmap(f)(torch.ones(3, 2))",
        "vmap: random numbers",
        ("randn on line 4 (return x + torch.randn(2)), which vmap calls on line 5",),
        "randomness='different'",
        BEGIN + "def f(x):\n    return x + torch.randn(2)\nout = vmap(f, randomness='different')(torch.ones(3, 2))",
    ),
    Case(
        "dropout",
        BEGIN + "def f(x):\n    return torch.nn.functional.dropout(x, 0.5)\nout = vmap(f)(torch.ones(3, 2))",
        "vmap: random numbers",
        ("dropout on line 4",),
        "randomness='different'",
        BEGIN + "def f(x):\n    return torch.nn.functional.dropout(x, 0.5)\n"
        "out = vmap(f, randomness='same')(torch.ones(3, 2))",
    ),
    Case(
        "noise of the input's sizes",
        BEGIN + "def f(x):\n    return x * torch.rand_like(x)\nout = vmap(f)(torch.ones(3, 2))",
        "vmap: random numbers",
        ("rand_like on line 4",),
        "randomness='different'",
        fixed=("vmap(f)", "vmap(f, randomness='different')"),
    ),
    Case(
        "a mask",
        BEGIN + "def f(x):\n    return x[x > 0]\nout = vmap(f)(torch.ones(3, 4))",
        "vmap: dynamic sizes",
        ("index on line 4 (return x[x > 0]), which vmap calls on line 5",),
        "torch.where(mask, x, 0)",
        BEGIN + "def f(x):\n    return torch.where(x > 0, x, 0)\nout = vmap(f)(torch.ones(3, 4))",
    ),
    Case(
        "nonzero",
        BEGIN + "def f(x):\n    return x.nonzero()\nout = vmap(f)(torch.ones(3, 4))",
        "vmap: dynamic sizes",
        ("nonzero on line 4",),
        "torch.where(mask, x, 0)",
        fixed=("x.nonzero()", "torch.where(x > 0, x, 0)"),
    ),
    Case(
        "masked_select",
        BEGIN + "def f(x):\n    return torch.masked_select(x, x > 0)\nout = vmap(f)(torch.ones(3, 4))",
        "vmap: dynamic sizes",
        ("masked_select on line 4",),
        "torch.where(mask, x, 0)",
        fixed=("torch.masked_select(x, x > 0)", "torch.where(x > 0, x, 0)"),
    ),
    Case(
        "numbers of samples",
        BEGIN + "def f(x, y):\n    return x + y\nout = vmap(f)(torch.ones(2), torch.ones(3))",
        "vmap: numbers of samples",
        ("Line 5 (out = vmap(f)(torch.ones(2), torch.ones(3))) maps inputs over dimensions with the sizes [2, 3]",),
        "in_dims=None",
        fixed=("torch.ones(2), ", "torch.ones(3), "),
    ),
    Case(
        "a dimension too many",
        BEGIN + "out = vmap(torch.sum, in_dims=2)(torch.ones(2, 3))",
        "vmap: in_dims",
        ("Line 3", "maps dimension 2 of an input that has two dimensions"),
        "Pass 0 to 1 in in_dims",
        BEGIN + "out = vmap(torch.sum, in_dims=1)(torch.ones(2, 3))",
    ),
    Case(
        "no tensor",
        BEGIN + "def f(x):\n    return 1.0\nout = vmap(f)(torch.ones(3, 4))",
        "vmap: returns no tensor",
        ("f, which vmap calls on line 5", "returns a float on line 4 (return 1.0)"),
        "Return tensors only: torch.tensor(value)",
        BEGIN + "def f(x):\n    return torch.tensor(1.0)\nout = vmap(f)(torch.ones(3, 4))",
    ),
    Case(
        "grad of a vector",
        BEGIN + "def f(x):\n    return x * 2\ng = grad(f)(torch.ones(3))",
        "grad: no scalar",
        ("f, which grad differentiates on line 5", "returns a tensor with one dimension on line 4 (return x * 2)"),
        "sum() or mean()",
        BEGIN + "def f(x):\n    return (x * 2).sum()\ng = grad(f)(torch.ones(3))",
    ),
    Case(
        "grad of two values",
        BEGIN + "def loss(x):\n    y = x.sum()\n    return y, x\ng = grad(loss)(torch.ones(3))",
        "grad: no scalar",
        ("loss, which grad differentiates on line 6", "returns a tuple on line 5 (return y, x)"),
        "has_aux=True",
        BEGIN + "def loss(x):\n    y = x.sum()\n    return y, x\ng = grad(loss, has_aux=True)(torch.ones(3))",
    ),
    Case(
        "grad of a number",
        BEGIN + "def f(x):\n    return 2.0\ng = grad(f)(torch.ones(3))",
        "grad: no scalar",
        ("f, which grad differentiates on line 5", "returns a float on line 4 (return 2.0)"),
        "Return a tensor that is computed from the inputs",
        fixed=("return 2.0", "return (x * 2.0).sum()"),
    ),
    Case(
        "three inputs",
        "import torch\nfrom torch.func import grad, vmap\ndef f(a, b, c):\n    return a * b + c\n"
        "xs = torch.ones(4, 2)\nys = torch.ones(4, 2)\nbias = torch.zeros(2)\nout = vmap(f)(xs, ys, bias)",
        "vmap: numbers of samples",
        ("Line 8 (out = vmap(f)(xs, ys, bias)) maps inputs over dimensions with the sizes [4, 4, 2]",),
        "in_dims=None",
        "import torch\nfrom torch.func import grad, vmap\ndef f(a, b, c):\n    return a * b + c\n"
        "xs = torch.ones(4, 2)\nys = torch.ones(4, 2)\nbias = torch.zeros(2)\n"
        "out = vmap(f, in_dims=(0, 0, None))(xs, ys, bias)",
    ),
    Case(
        "two dimensions of one tensor",
        "import torch\nfrom torch.func import grad, vmap\nm = torch.ones(2, 3)\n"
        "out = vmap(torch.dot, in_dims=(0, 1))(m, m)",
        "vmap: numbers of samples",
        (
            "Line 4",
            "with the sizes [2, 3]",
        ),
        "the dimension that holds the samples",
        "import torch\nfrom torch.func import grad, vmap\nm = torch.ones(2, 3)\n"
        "out = vmap(torch.dot, in_dims=(0, 0))(m, m)",
    ),
    Case(
        "a negative dimension",
        "import torch\nfrom torch.func import grad, vmap\nx = torch.ones(3)\n"
        "out = vmap(lambda a: a * 2, in_dims=-2)(x)",
        "vmap: in_dims",
        ("maps dimension -2 of an input that has one dimension.",),
        "Pass 0 in in_dims",
        "import torch\nfrom torch.func import grad, vmap\nx = torch.ones(3)\n"
        "out = vmap(lambda a: a * 2, in_dims=-1)(x)",
    ),
    Case(
        "the dimension of a vector",
        "import torch\nfrom torch.func import grad, vmap\ndef f(row, v):\n    return row @ v\n"
        "m, v = torch.ones(4, 3), torch.ones(3)\nout = vmap(f, in_dims=(0, 1))(m, v)",
        "vmap: in_dims",
        ("Line 6 (out = vmap(f, in_dims=(0, 1))(m, v)) maps dimension 1 of an input that has one dimension.",),
        "None in in_dims for an input that is the same for all samples",
        "import torch\nfrom torch.func import grad, vmap\ndef f(row, v):\n    return row @ v\n"
        "m, v = torch.ones(4, 3), torch.ones(3)\nout = vmap(f, in_dims=(0, None))(m, v)",
    ),
    Case(
        "one number",
        "import torch\nfrom torch.func import grad, vmap\ndef f(a, b):\n    return a * b\n"
        "out = vmap(f)(torch.ones(3), torch.tensor(2.0))",
        "vmap: in_dims",
        (
            "Line 5",
            "maps dimension 0 of an input that has no dimensions.",
        ),
        "Pass None in in_dims",
        "import torch\nfrom torch.func import grad, vmap\ndef f(a, b):\n    return a * b\n"
        "out = vmap(f, in_dims=(0, None))(torch.ones(3), torch.tensor(2.0))",
    ),
    Case(
        "no return",
        "import torch\nfrom torch.func import grad, vmap\ndef f(x):\n    y = x * 2\nout = vmap(f)(torch.ones(3))",
        "vmap: returns no tensor",
        (
            "f, which vmap calls on line 5",
            "returns None, but vmap stacks tensors",
        ),
        "Return tensors only",
        "import torch\nfrom torch.func import grad, vmap\ndef f(x):\n    y = x * 2\n    return y\n"
        "out = vmap(f)(torch.ones(3))",
    ),
    Case(
        "a size beside a tensor",
        "import torch\nfrom torch.func import grad, vmap\ndef norm(v):\n    return v.sum(), v.shape[0]\n"
        "out, n = vmap(norm)(torch.ones(3, 2))",
        "vmap: returns no tensor",
        (
            "norm, which vmap calls on line 5",
            "returns an int on line 4 (return v.sum(), v.shape[0])",
        ),
        "Return tensors only",
        "import torch\nfrom torch.func import grad, vmap\ndef norm(v):\n    return v.sum()\n"
        "out = vmap(norm)(torch.ones(3, 2))",
    ),
    Case(
        "a text in a dict",
        "import torch\nfrom torch.func import grad, vmap\ndef tag(x):\n    return {'y': x, 'name': 'a'}\n"
        "out = vmap(tag)(torch.ones(3))",
        "vmap: returns no tensor",
        (
            "tag, which vmap calls on line 5",
            "returns a str on line 4",
        ),
        "Return tensors only",
        "import torch\nfrom torch.func import grad, vmap\ndef tag(x):\n    return {'y': x}\n"
        "out = vmap(tag)(torch.ones(3))",
    ),
]
