"""Sizes that do not fit: broadcasting, joining, ``view`` to other sizes, dimensions that a tensor does not have."""

from __future__ import annotations

import pytest

from tests.explain.diagnosis.cases import Case, check

BEGIN = "import torch\n"

BROADCASTING = [
    Case(
        "two matrices",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(2, 4)\nc = a + b",
        "shapes: broadcasting",
        ("add on line 4 (c = a + b) broadcasts a [2, 3] with b [2, 4]", "size 3 of a meets size 4 of b"),
        "look at a (line 2) and b (line 3)",
    ),
    Case(
        "a weight for each row",
        BEGIN + "logits = torch.ones(8, 10)\nscale = torch.ones(8)\ny = logits * scale",
        "shapes: broadcasting",
        ("mul on line 4", "size 10 of logits meets size 8 of scale"),
        "scale.unsqueeze(1) has sizes [8, 1]",
        BEGIN + "logits = torch.ones(8, 10)\nscale = torch.ones(8)\ny = logits * scale.unsqueeze(1)",
    ),
    Case(
        "in a function",
        BEGIN + "def loss_of(p, t):\n    return ((p - t) ** 2).mean()\na = torch.ones(4, 3)\nb = torch.ones(3, 4)\n"
        "loss_of(a, b)",
        "shapes: broadcasting",
        ("sub on line 3 (return ((p - t) ** 2).mean()) broadcasts a [4, 3] with b [3, 4]",),
        "Transpose it: b.T has sizes [4, 3]",
        BEGIN + "def loss_of(p, t):\n    return ((p - t) ** 2).mean()\na = torch.ones(4, 3)\nb = torch.ones(3, 4)\n"
        "loss_of(a, b.T)",
    ),
    Case(
        "where",
        BEGIN + "a = torch.ones(4)\nb = torch.ones(4)\nm = torch.ones(3) > 0\ny = torch.where(m, a, b)",
        "shapes: broadcasting",
        ("where on line 5", "size 3 of m meets size 4 of a"),
        "look at m (line 4) and a (line 2)",
    ),
    Case(
        "an in-place addition",
        BEGIN + "a = torch.zeros(3)\nb = torch.ones(2, 3)\na += b",
        "shapes: result of an in-place operator",
        ("add_ on line 4 (a += b) writes in place into a [3], but with b [2, 3] the result has sizes [2, 3]",),
        "add instead of add_, and assign it to a",
        BEGIN + "a = torch.zeros(3)\nb = torch.ones(2, 3)\na = a + b",
    ),
    Case(
        "mul_",
        BEGIN + "a = torch.ones(1, 3)\nb = torch.ones(2, 1)\na.mul_(b)",
        "shapes: result of an in-place operator",
        ("mul_ on line 4 (a.mul_(b)) writes in place into a [1, 3], but with b [2, 1] the result has sizes [2, 3]",),
        "mul instead of mul_",
        BEGIN + "a = torch.ones(1, 3)\nb = torch.ones(2, 1)\na = a.mul(b)",
    ),
    Case(
        "a total of rows",
        BEGIN + "total = torch.zeros(())\nfor row in torch.ones(2, 3):\n    total -= row",
        "shapes: result of an in-place operator",
        ("sub_ on line 4 (total -= row) writes in place into total []",),
        "sub instead of sub_",
        BEGIN + "total = torch.zeros(())\nfor row in torch.ones(2, 3):\n    total = total - row",
    ),
    Case(
        "expand",
        BEGIN + "a = torch.ones(2, 3)\nb = a.expand(2, 6)",
        "shapes: expand",
        ("expand on line 3 (b = a.expand(2, 6)) expands a [2, 3] to sizes [2, 6]: size 3 cannot become 6",),
        "Give a size 1 or 6",
    ),
    Case(
        "the bias of addmm",
        BEGIN + "b = torch.ones(5)\na = torch.ones(2, 3)\nw = torch.ones(3, 4)\ny = torch.addmm(b, a, w)",
        "shapes: expand",
        ("addmm on line 5", "expands b [5] to sizes [2, 4]: size 5 cannot become 4"),
        "Give b size 1 or 4",
    ),
    Case(
        "broadcast_to",
        BEGIN + "row = torch.ones(3)\nb = torch.broadcast_to(row, (3, 2))",
        "shapes: expand",
        ("broadcast_to on line 3", "expands row [3] to sizes [3, 2]: size 3 cannot become 2"),
        "Give row size 1 or 2",
    ),
    Case(
        "a row",
        BEGIN + "a = torch.zeros(2, 3)\na[0] = torch.ones(4)",
        "shapes: assignment to a part",
        ("Line 3 (a[0] = torch.ones(4)) assigns a value with sizes [4] to a place with sizes [3]",),
        "Assign a value with sizes [3]",
        BEGIN + "a = torch.zeros(2, 3)\na[0] = torch.ones(3)",
    ),
    Case(
        "a slice",
        BEGIN + "a = torch.zeros(6)\nv = torch.ones(3)\na[2:4] = v",
        "shapes: assignment to a part",
        ("Line 4 (a[2:4] = v) assigns a value with sizes [3] to a place with sizes [2]",),
        "Assign a value with sizes [2]",
        BEGIN + "a = torch.zeros(6)\nv = torch.ones(3)\na[2:5] = v",
    ),
    Case(
        "a column",
        BEGIN + "a = torch.zeros(4, 2)\na[:, 1] = torch.arange(3.0)",
        "shapes: assignment to a part",
        ("assigns a value with sizes [3] to a place with sizes [4]",),
        "Assign a value with sizes [4]",
        BEGIN + "a = torch.zeros(4, 2)\na[:, 1] = torch.arange(4.0)",
    ),
]

JOINING = [
    Case(
        "cat",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(3, 4)\nc = torch.cat([a, b])",
        "shapes: cat",
        ("cat on line 4", "joins tensors in dimension 0", "in dimension 1 a [2, 3] has 3 and b [3, 4] has 4"),
        "Give the tensors equal sizes in all dimensions but 0",
    ),
    Case(
        "cat of a list",
        BEGIN + "xs = [torch.ones(2, 3), torch.ones(2, 3), torch.ones(4, 3)]\nc = torch.cat(xs, dim=1)",
        "shapes: cat",
        ("in dimension 0 xs[0] [2, 3] has 2 and xs[2] [4, 3] has 4",),
        "cat(..., dim=0)",
        BEGIN + "xs = [torch.ones(2, 3), torch.ones(2, 3), torch.ones(4, 3)]\nc = torch.cat(xs, dim=0)",
    ),
    Case(
        "a skip connection",
        BEGIN + "up = torch.ones(1, 8, 10, 10)\nskip = torch.ones(1, 8, 11, 10)\nh = torch.cat((up, skip), 1)",
        "shapes: cat",
        ("in dimension 2 up [1, 8, 10, 10] has 10 and skip [1, 8, 11, 10] has 11",),
        "cat(..., dim=2)",
    ),
    Case(
        "a vector below a matrix",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(3)\nc = torch.cat([a, b])",
        "shapes: cat of other dimensions",
        ("a [2, 3] has 2 and b [3] has 1",),
        "b.unsqueeze(0) has sizes [1, 3]",
        BEGIN + "a = torch.ones(2, 3)\nb = torch.ones(3)\nc = torch.cat([a, b.unsqueeze(0)])",
    ),
    Case(
        "a token before a sequence",
        BEGIN + "token = torch.zeros(4)\nx = torch.ones(5, 4)\nc = torch.concat((token, x))",
        "shapes: cat of other dimensions",
        ("token [4] has 1 and x [5, 4] has 2",),
        "token.unsqueeze(0) has sizes [1, 4]",
        BEGIN + "token = torch.zeros(4)\nx = torch.ones(5, 4)\nc = torch.concat((token.unsqueeze(0), x))",
    ),
    Case(
        "features of two layers",
        BEGIN + "a = torch.ones(2, 3, 1)\nb = torch.ones(2, 3)\nc = torch.cat([a, b], 1)",
        "shapes: cat of other dimensions",
        ("a [2, 3, 1] has 3 and b [2, 3] has 2",),
        "Add dimensions to b",
    ),
    Case(
        "stack",
        BEGIN + "a = torch.ones(2)\nb = torch.ones(3)\nc = torch.stack([a, b])",
        "shapes: stack",
        ("stack on line 4", "a [2] and b [3] differ"),
        "torch.cat",
        BEGIN + "a = torch.ones(2)\nb = torch.ones(3)\nc = torch.cat([a, b])",
    ),
    Case(
        "a batch of sentences",
        BEGIN + "batch = [torch.arange(4), torch.arange(4), torch.arange(2)]\nx = torch.stack(batch)",
        "shapes: stack",
        ("batch[0] [4] and batch[2] [2] differ",),
        "pad_sequence",
        BEGIN
        + "batch = [torch.arange(4), torch.arange(4), torch.arange(2)]\nx = torch.nn.utils.rnn.pad_sequence(batch)",
    ),
    Case(
        "stack of images",
        BEGIN + "a = torch.ones(3, 8, 8)\nb = torch.ones(3, 8, 9)\nc = torch.stack((a, b), dim=1)",
        "shapes: stack",
        ("a [3, 8, 8] and b [3, 8, 9] differ",),
        "Give them equal sizes",
    ),
]

OTHERS = [
    Case(
        "permute",
        BEGIN + "x = torch.ones(2, 3)\ny = x.permute(0, 1, 2)",
        "shapes: permute",
        ("permute on line 3 (y = x.permute(0, 1, 2)) orders 3 dimensions, but x [2, 3] has 2",),
        "Name each dimension of x once: [0, 1] in another order",
        BEGIN + "x = torch.ones(2, 3)\ny = x.permute(1, 0)",
    ),
    Case(
        "an image as a batch",
        BEGIN + "image = torch.ones(8, 8, 3)\ny = torch.permute(image, (0, 3, 1, 2))",
        "shapes: permute",
        ("orders 4 dimensions, but image [8, 8, 3] has 3",),
        "[0, 1, 2] in another order",
        BEGIN + "image = torch.ones(8, 8, 3)\ny = torch.permute(image, (2, 0, 1))",
    ),
    Case(
        "permute of too few",
        BEGIN + "q = torch.ones(2, 5, 4, 8)\nh = q.permute(0, 2, 1)",
        "shapes: permute",
        ("orders 3 dimensions, but q [2, 5, 4, 8] has 4",),
        "[0, 1, 2, 3] in another order",
        BEGIN + "q = torch.ones(2, 5, 4, 8)\nh = q.permute(0, 2, 1, 3)",
    ),
    Case(
        "split",
        BEGIN + "x = torch.ones(5)\na, b = x.split([2, 2])",
        "shapes: split",
        ("on line 3", "asks for pieces with the sizes [2, 2], 4 in all, but x [5] has 5 in dimension 0"),
        "Choose sizes whose sum is 5",
        BEGIN + "x = torch.ones(5)\na, b = x.split([2, 3])",
    ),
    Case(
        "queries, keys and values",
        BEGIN + "qkv = torch.ones(2, 12)\nq, k, v = torch.split(qkv, [4, 4, 8], dim=1)",
        "shapes: split",
        ("[4, 4, 8], 16 in all, but qkv [2, 12] has 12 in dimension 1",),
        "Choose sizes whose sum is 12",
        BEGIN + "qkv = torch.ones(2, 12)\nq, k, v = torch.split(qkv, 4, dim=1)",
    ),
    Case(
        "split_with_sizes",
        BEGIN + "rows = torch.ones(3, 2)\nparts = rows.split_with_sizes([1, 1])",
        "shapes: split",
        ("[1, 1], 2 in all, but rows [3, 2] has 3 in dimension 0",),
        "Choose sizes whose sum is 3",
    ),
    Case(
        "view",
        BEGIN + "x = torch.ones(3, 4)\ny = x.view(5, 2)",
        "shapes: another number of elements",
        ("view on line 3 (y = x.view(5, 2)) asks for sizes [5, 2], which hold ten elements, but x [3, 4] has 12",),
        "[-1, 2] gives [6, 2]",
        BEGIN + "x = torch.ones(3, 4)\ny = x.view(-1, 2)",
    ),
    Case(
        "reshape",
        BEGIN + "x = torch.ones(3, 4)\ny = x.reshape(-1, 5)",
        "shapes: another number of elements",
        ("asks for sizes [-1, 5], which hold a multiple of 5 elements, but x [3, 4] has 12",),
        "Choose sizes whose product is 12",
    ),
    Case(
        "the last batch",
        BEGIN + "for images in torch.ones(5, 2, 3).split(2):\n    flat = images.view(2, 6)",
        "shapes: another number of elements",
        ("asks for sizes [2, 6], which hold 12 elements, but", "[1, 2, 3] has 6"),
        "[-1, 6] gives [1, 6]",
        BEGIN + "for images in torch.ones(5, 2, 3).split(2):\n    flat = images.view(-1, 6)",
    ),
    Case(
        "sum",
        BEGIN + "x = torch.ones(3)\ny = x.sum(1)",
        "shapes: no such dimension",
        ("sum on line 3 (y = x.sum(1)) asks for dimension 1, but x [3] has only one dimension, 0",),
        "Use a dimension from -1 to 0",
        BEGIN + "x = torch.ones(3)\ny = x.sum(0)",
    ),
    Case(
        "softmax",
        BEGIN + "x = torch.ones(3, 2)\ny = torch.softmax(x, dim=2)",
        "shapes: no such dimension",
        ("softmax on line 3", "asks for dimension 2, but x [3, 2] has only two dimensions, 0 to 1"),
        "Use a dimension from -2 to 1",
        BEGIN + "x = torch.ones(3, 2)\ny = torch.softmax(x, dim=1)",
    ),
    Case(
        "transpose",
        BEGIN + "x = torch.ones(4)\ny = x.transpose(0, 1)",
        "shapes: no such dimension",
        ("transpose on line 3", "asks for dimension 1, but x [4] has only one dimension"),
        "Use a dimension from -1 to 0",
    ),
    Case(
        "a number",
        BEGIN + "x = torch.ones(())\ny = x.unsqueeze(2)",
        "shapes: no such dimension",
        ("unsqueeze on line 3", "asks for dimension 2"),
        "Use a dimension",
    ),
    Case(
        "item",
        BEGIN + "x = torch.ones(4)\ny = x.item()",
        "shapes: one number of several",
        ("Line 3 (y = x.item()) makes a Python number of x [4], but it has 4 values",),
        "x.tolist()",
        BEGIN + "x = torch.ones(4)\ny = x.tolist()",
    ),
    Case(
        "if",
        BEGIN + "x = torch.ones(4)\nmask = x > 0\nif mask:\n    print(1)",
        "shapes: one number of several",
        ("Line 4 (if mask:) asks whether mask [4] is true, but it has 4 values",),
        "mask.all() or mask.any()",
        BEGIN + "x = torch.ones(4)\nmask = x > 0\nif mask.all():\n    print(1)",
    ),
    Case(
        "float",
        BEGIN + "x = torch.ones(2, 2)\nprint(float(x))",
        "shapes: one number of several",
        ("Line 3 (print(float(x))) makes a Python number of x [2, 2], but it has 4 values",),
        "Choose one element",
        BEGIN + "x = torch.ones(2, 2)\nprint(float(x[0, 0]))",
    ),
]

CASES = BROADCASTING + JOINING + OTHERS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_model(case: Case) -> None:
    check(case, "model")


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_an_installed_pytorch(case: Case) -> None:
    check(case, "torch")
