"""Tests of the rewriting of lines that write in place."""

from __future__ import annotations

import pytest

from dispatchviz.explain.diagnosis.graph_errors.rewritten import out_of_place, without_out


@pytest.mark.parametrize(
    ("line", "variable", "new"),
    [
        ("y += 1", "y", "y = y + 1"),
        ("self.h *= a - b", "model.h", "self.h = self.h * (a - b)"),
        ("y.mul_(2)", "y", "y = y.mul(2)"),
        ("z = y.clamp_(min=0.1)", "y", "z = y.clamp(min=0.1)"),
        ("F.relu(y, inplace=True)", "y", "y = F.relu(y)"),
        ("y = F.dropout(y, 0.5, inplace=True)", "y", "y = F.dropout(y, 0.5)"),
        ("y.zero_()", "y", ""),
        ("nn.init.zeros_(w)", "w", ""),
        ("y[0] = 2", "y", ""),
        ("y.relu_().sum()", "y", ""),
        ("for y in x:", "y", ""),
    ],
)
def test_in_place_line_becomes_out_of_place(line: str, variable: str, new: str) -> None:
    assert out_of_place(line, variable) == new


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("torch.add(a, b, out=r)", "r = torch.add(a, b)"),
        ("x = torch.mul(a, 2, out=self.r)", ""),
        ("torch.add(a, b)", ""),
    ],
)
def test_line_with_out_becomes_an_assignment(line: str, new: str) -> None:
    assert without_out(line) == new
