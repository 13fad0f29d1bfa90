"""Tests of the facts about a module in the program's text. Its class is named only if it is unambiguous."""

from __future__ import annotations

import pytest

from dispatchviz.explain.diagnosis.modules import _made

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        if deep:
            self.extra = nn.Linear(1, 1)
        else:
            self.extra = nn.Identity()
        self.swapped = nn.Linear(1, 1)

net = Net(True).cuda().eval()
net.swapped = nn.Bilinear(1, 1, 1)
twice = nn.Linear(1, 1)
twice = nn.Linear(2, 2)
blocks = nn.Sequential(*[nn.Linear(1, 1)])
"""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("net", "Net(True)"),
        ("net.fc", "nn.Linear(2, 3)"),
        ("net.layers.2", "nn.Linear(3, 3)"),
        ("net.head.1", "nn.Linear(3, 1)"),
        ("net.extra", ""),
        ("net.swapped", ""),
        ("twice", ""),
        ("blocks.0", ""),
        ("unknown.fc", ""),
    ],
)
def test_module_is_found_by_the_call_that_creates_it(path: str, text: str) -> None:
    import ast

    made = _made(PROGRAM, path)
    assert (ast.unparse(made) if made is not None else "") == text
