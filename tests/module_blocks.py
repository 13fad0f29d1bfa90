"""A program with modules within modules, whose blocks are alike."""

from __future__ import annotations

BLOCKS = 4

PROGRAM = f"""\
import torch
one = torch.ones(2)
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(one)
    def forward(self, x):
        return x * self.weight
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = Scale(), Scale()
    def forward(self, x):
        return x + self.down(self.up(x))
net = [Block() for _ in range({BLOCKS})]
x = one
for block in net:
    x = block(x)
x.backward(one)
"""
