"""Programs whose classes call layers. The diagnosis names the module that ran a line, and its class."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BLOCKS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, last):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.last = last

    def forward(self, x):
        h = self.fc(x)
        return h + (torch.ones(3) if self.last else x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(False), Block(True)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

net = Net()
loss = net(torch.ones(2, 4)).sum()
loss.backward()
"""

ADDED = "(torch.ones(3) if self.last else x)"
LOOKED_UP = BLOCKS.replace(f"h + {ADDED}", "h + {False: x}[self.last]")
CHANGED = BLOCKS.replace(f"        return h + {ADDED}", "        h = h.sigmoid()\n        return h.mul_(2)")

MADE_ELSEWHERE = """
import torch
from torch import nn

def layers(*sizes):
    return nn.Sequential(*[nn.Linear(a, b) for a, b in sizes])

net = layers((4, 3), (5, 2))
net(torch.ones(2, 4))
"""

CASES = [
    Case(
        "a line that runs for two blocks",
        BLOCKS,
        "shapes: broadcasting",
        ("add on line 12 (return h + (torch.ones(3) if self.last else x)) in blocks.1",),
        "Give them equal sizes there",
        ("torch.ones(3)", "torch.ones(4)"),
    ),
    Case(
        "an error of Python in a block",
        LOOKED_UP,
        "error of Python",
        ("Python raised KeyError on line 12 (return h + {False: x}[self.last]) in blocks.1: True",),
        "",
        ("{False: x}", "{False: x, True: x}"),
    ),
    Case(
        "what a Node of a block saved",
        CHANGED,
        "saved tensor changed",
        ("made on line 12 (h = h.sigmoid()) in blocks.1", "Line 13 (return h.mul_(2)) in blocks.1"),
        "Write to a copy",
        ("h.mul_(2)", "h.clone().mul_(2)"),
    ),
    Case(
        "a layer whose class the program's text does not show",
        MADE_ELSEWHERE,
        "shapes: features of a layer",
        ("net.1 (Linear) on line 8", "takes 5 features", "net.0 (Linear) gives 3"),
        "Make net.1 take 3 features",
        ("(5, 2)", "(3, 2)"),
    ),
]
