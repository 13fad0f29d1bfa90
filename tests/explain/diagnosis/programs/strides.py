"""Programs that call ``view`` on a tensor whose elements are not in the required order in memory."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\n"

CASES = [
    Case(
        "transposed",
        BEGIN + "x = torch.ones(2, 3)\ny = x.t()\nz = y.view(6)",
        "strides: view",
        (
            "view on line 4 (z = y.view(6))",
            "y has sizes [3, 2] and strides [1, 3]: in memory a step in dimension 0 goes 1 element further",
            "one dimension of dimensions 0 and 1: a step in dimension 0 would have to go 2 * 3 = 6 elements further",
            "t on line 3 (y = x.t()) gave y these strides",
        ),
        "Use y.reshape(6) on line 4",
        BEGIN + "x = torch.ones(2, 3)\ny = x.t()\nz = y.reshape(6)",
    ),
    Case(
        "heads",
        BEGIN + "x = torch.ones(2, 2, 3, 4)\ny = x.permute(0, 2, 1, 3)\nz = y.view(2, 3, -1)",
        "strides: view",
        (
            "strides [24, 4, 12, 1]",
            "one dimension of dimensions 2 and 3: a step in dimension 2 would have to go 4 * 1 = 4",
        ),
        "Use y.reshape(2, 3, -1) on line 4",
        BEGIN + "x = torch.ones(2, 2, 3, 4)\ny = x.permute(0, 2, 1, 3)\nz = y.contiguous().view(2, 3, -1)",
    ),
    Case(
        "a slice of columns",
        BEGIN + "x = torch.ones(4, 6)\nleft = x[:, :3]\nz = left.view(-1)",
        "strides: view",
        ("left has sizes [4, 3] and strides [6, 1]", "would have to go 3 * 1 = 3 elements further", "slice on line 3"),
        "Use left.reshape(-1) on line 4",
        BEGIN + "x = torch.ones(4, 6)\nleft = x[:, :3]\nz = left.reshape(-1)",
    ),
    Case(
        "expanded",
        BEGIN + "x = torch.ones(3, 1)\nz = x.expand(3, 4).view(12)",
        "strides: view",
        ("sizes [3, 4] and strides [1, 0]", "So all 4 elements in dimension 1 are one element in memory"),
        "Use .reshape(12) on line 3",
        BEGIN + "x = torch.ones(3, 1)\nz = x.expand(3, 4).reshape(12)",
    ),
]
