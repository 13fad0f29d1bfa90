"""Indices that a tensor does not have, masks and index tensors of other sizes."""

from __future__ import annotations

import pytest

from tests.explain.diagnosis.cases import Case, check

BEGIN = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

CASES = [
    Case(
        "x[3]",
        BEGIN + "x = torch.ones(3)\ny = x[3]",
        "indices: x[i] out of bounds",
        ("x[3] on line 5 (y = x[3]) does not exist: x [3] has size 3 in dimension 0", "0 to 2"),
        "Use an index from 0 to 2",
        BEGIN + "x = torch.ones(3)\ny = x[2]",
    ),
    Case(
        "a loop",
        BEGIN + "x = torch.ones(2, 3)\nfor i in range(3):\n    y = x[i].sum()",
        "indices: x[i] out of bounds",
        ("x[i] on line 6", "with the index 2: x [2, 3] has size 2 in dimension 0"),
        "Let the index run from 0 to 1",
        BEGIN + "x = torch.ones(2, 3)\nfor i in range(2):\n    y = x[i].sum()",
    ),
    Case(
        "a column",
        BEGIN + "table = torch.ones(2, 3)\nlast = table[:, 3]",
        "indices: x[i] out of bounds",
        ("table[:, 3] on line 5", "table [2, 3] has size 3 in dimension 1"),
        "Use an index from 0 to 2",
        BEGIN + "table = torch.ones(2, 3)\nlast = table[:, -1]",
    ),
    Case(
        "an index tensor",
        BEGIN + "x = torch.ones(3)\ni = torch.tensor([0, 7])\ny = x[i]",
        "indices: out of bounds",
        ("index on line 6 (y = x[i]) gets the index 7 in i, but x [3] has size 3 in dimension 0",),
        "Correct the index 7 in i",
        BEGIN + "x = torch.ones(3)\ni = torch.tensor([0, 1])\ny = x[i]",
    ),
    Case(
        "gather",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.tensor([[0], [3]])\ny = x.gather(1, i)",
        "indices: out of bounds",
        ("gather on line 6", "gets the index 3 in i, but x [2, 3] has size 3 in dimension 1"),
        "Correct the index 3 in i",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.tensor([[0], [2]])\ny = x.gather(1, i)",
    ),
    Case(
        "scatter",
        BEGIN + "labels = torch.tensor([[0], [4]])\nhot = torch.zeros(2, 3)\nhot.scatter_(1, labels, 1.0)",
        "indices: out of bounds",
        ("scatter_ on line 6", "gets the index 4 in labels, but hot [2, 3] has size 3 in dimension 1"),
        "Correct the index 4 in labels",
    ),
    Case(
        "embedding",
        BEGIN + "emb = nn.Embedding(10, 3)\nx = torch.tensor([1, 10])\ny = emb(x)",
        "indices: not in the table",
        ("emb (Embedding) on line 6 (y = emb(x)) looks up x in emb.weight [10, 3]", "ten rows, 0 to 9"),
        "x.max() must be at most 9",
        BEGIN + "emb = nn.Embedding(11, 3)\nx = torch.tensor([1, 10])\ny = emb(x)",
    ),
    Case(
        "embedding in a Sequential",
        BEGIN + "net = nn.Sequential(nn.Embedding(4, 2), nn.Linear(2, 1))\nwords = torch.tensor([-1])\ny = net(words)",
        "indices: not in the table",
        ("net.0 (Embedding) on line 6", "looks up words in net.0.weight [4, 2]"),
        "Let net.0 have a row for each value of words",
    ),
    Case(
        "index_select",
        BEGIN + "x = torch.ones(3)\ni = torch.tensor([0, 5])\ny = torch.index_select(x, 0, i)",
        "indices: not in the table",
        ("index_select on line 6", "gets an index in i that x [3] does not have"),
        "Look at i.max()",
    ),
    Case(
        "index_add_",
        BEGIN + "x = torch.zeros(3)\ni = torch.tensor([0, 5])\nx.index_add_(0, i, torch.ones(2))",
        "indices: not in the table",
        ("index_add_ on line 6", "gets an index in i that x [3] does not have"),
        "Look at i.max()",
    ),
    Case(
        "three indices",
        BEGIN + "x = torch.ones(2, 3)\ny = x[0, 1, 2]",
        "indices: too many",
        ("x[0, 1, 2] on line 5 (y = x[0, 1, 2]) has three indices, but x [2, 3] has two dimensions",),
        "Use at most two indices",
        BEGIN + "x = torch.ones(2, 3)\ny = x[0, 1]",
    ),
    Case(
        "slices",
        BEGIN + "row = torch.ones(4)\ny = row[:, 0]",
        "indices: too many",
        ("row[:, 0] on line 5", "has two indices, but row [4] has one dimension"),
        "Use at most one index",
        BEGIN + "row = torch.ones(4)\ny = row[0]",
    ),
    Case(
        "an assignment",
        BEGIN + "x = torch.ones(2)\ni = 1\nx[i, i] = 0",
        "indices: too many",
        ("x[i, i] on line 6", "has two indices, but x [2] has one dimension"),
        "Use at most one index",
        BEGIN + "x = torch.ones(2)\ni = 1\nx[i] = 0",
    ),
    Case(
        "a mask",
        BEGIN + "x = torch.ones(4)\nm = torch.tensor([True, False, True])\ny = x[m]",
        "indices: mask",
        ("index on line 6 (y = x[m]) chooses from x [4] with the mask m [3]",),
        "Compute m from x",
        BEGIN + "x = torch.ones(4)\nm = x > 0\ny = x[m]",
    ),
    Case(
        "a mask of rows",
        BEGIN + "x = torch.ones(4, 2)\nkeep = torch.ones(2) > 0\nx = x[keep]",
        "indices: mask",
        ("chooses from x [4, 2] with the mask keep [2]",),
        "Compute keep from x",
        BEGIN + "x = torch.ones(4, 2)\nkeep = torch.ones(2) > 0\nx = x[:, keep]",
    ),
    Case(
        "an assignment with a mask",
        BEGIN + "x = torch.ones(3, 3)\nm = torch.ones(3, 4) > 0\nx[m] = 0.0",
        "indices: mask",
        ("chooses from x [3, 3] with the mask m [3, 4]",),
        "Compute m from x",
    ),
    Case(
        "two index tensors",
        BEGIN + "x = torch.ones(4, 4)\ni = torch.tensor([0, 1])\nj = torch.tensor([0, 1, 2])\ny = x[i, j]",
        "indices: shapes of index tensors",
        ("takes one element for each pair of indices, but i [2] and j [3] have no common sizes",),
        "i[:, None]",
        BEGIN + "x = torch.ones(4, 4)\ni = torch.tensor([0, 1])\nj = torch.tensor([0, 1, 2])\ny = x[i[:, None], j]",
    ),
    Case(
        "rows and targets",
        BEGIN + "logits = torch.ones(4, 5)\nt = torch.zeros(3, dtype=torch.long)\np = logits[torch.arange(4), t]",
        "indices: shapes of index tensors",
        ("the result of arange on line 6 [4] and t [3] have no common sizes",),
        "For all combinations add a dimension",
        BEGIN + "logits = torch.ones(4, 5)\nt = torch.zeros(4, dtype=torch.long)\np = logits[torch.arange(4), t]",
    ),
    Case(
        "index tensors of an assignment",
        BEGIN + "x = torch.ones(4, 4)\ni = torch.arange(2)\nj = torch.arange(3)\nx[i, j] = 0.0",
        "indices: shapes of index tensors",
        ("i [2] and j [3] have no common sizes",),
        "i[:, None]",
        BEGIN + "x = torch.ones(4, 4)\ni = torch.arange(2)\nj = torch.arange(3)\nx[i[:, None], j] = 0.0",
    ),
    Case(
        "gather with a vector",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.tensor([0, 1])\ny = x.gather(1, i)",
        "indices: shape of the index",
        ("gather on line 6", "takes i [2] as index of x [2, 3]: both must have the same number of dimensions"),
        "i.unsqueeze(-1) has sizes [2, 1]",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.tensor([0, 1])\ny = x.gather(1, i.unsqueeze(-1))",
    ),
    Case(
        "gather with too many rows",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.zeros(3, 1, dtype=torch.long)\ny = x.gather(1, i)",
        "indices: shape of the index",
        ("takes i [3, 1] as index of x [2, 3]: the index must be no larger in dimension 0",),
        "Give i as many dimensions as x",
        BEGIN + "x = torch.ones(2, 3)\ni = torch.zeros(2, 1, dtype=torch.long)\ny = x.gather(1, i)",
    ),
    Case(
        "scatter with a vector",
        BEGIN + "x = torch.zeros(2, 3)\ni = torch.tensor([0, 1])\nx.scatter_(1, i, 1.0)",
        "indices: shape of the index",
        ("scatter_ on line 6", "takes i [2] as index of x [2, 3]"),
        "i.unsqueeze(-1) has sizes [2, 1]",
        BEGIN + "x = torch.zeros(2, 3)\ni = torch.tensor([0, 1])\nx.scatter_(1, i.unsqueeze(-1), 1.0)",
    ),
    Case(
        "one_hot",
        BEGIN + "y = torch.tensor([0, 3])\nh = F.one_hot(y, 3)",
        "indices: one_hot",
        ("one_hot on line 5", "each class in y, and one of them is too large for num_classes"),
        "Pass a num_classes larger than y.max()",
        BEGIN + "y = torch.tensor([0, 3])\nh = F.one_hot(y, 4)",
    ),
    Case(
        "one_hot in a function",
        BEGIN
        + "def encode(labels):\n    return F.one_hot(labels, num_classes=2)\ncodes = torch.arange(4)\nencode(codes)",
        "indices: one_hot",
        ("one_hot on line 5 (return F.one_hot(labels, num_classes=2))", "each class in codes"),
        "Pass a num_classes larger than codes.max()",
    ),
    Case(
        "one_hot of a computed tensor",
        BEGIN + "h = F.one_hot(torch.arange(5) + 1, 5)",
        "indices: one_hot",
        ("each class in the result of add on line 4",),
        "Pass a num_classes larger than",
        BEGIN + "h = F.one_hot(torch.arange(5) + 1, 6)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_model(case: Case) -> None:
    check(case, "model")


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_an_installed_pytorch(case: Case) -> None:
    check(case, "torch")
