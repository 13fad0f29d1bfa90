"""Whatever a program does, a name that is shown for a tensor is that tensor's at that step, and no other's."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.trace_index.display_names import GRAD, tensor_name
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from tests.amounts import amount
from truth.programs import PROGRAMS

from .programs import traced

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

OWN = {
    "turns": """
        import torch
        w = torch.ones(2, requires_grad=True)
        losses, kept = [], None
        for step in range(4):
            h = w * step
            loss = h.sum()
            losses.append(loss)
            if step == 1:
                kept = loss
        loss = 3
        sum(losses).backward()
        kept + 1
        """,
    "shadows": """
        import torch
        def double(a):
            x = a * 2
            y = x + 1
            return y
        x = torch.ones(2)
        z = double(x) + double(x + 1)
        del z
        x + 1
        """,
    "lists": """
        import torch
        ws = [torch.ones(2) for _ in range(3)]
        ws[0] + 1
        ws[0] = torch.zeros(2)
        ws.insert(0, torch.zeros(3))
        ws.pop()
        ws[2] + 1
        named = {"a": torch.ones(1), 2: torch.ones(1)}
        del named["a"]
        pair = torch.ones(2), torch.ones(3)
        pair[1] * 2
        pair = None
        """,
    "objects": """
        import torch
        class Net:
            count = torch.ones(1)
            def __init__(self):
                self.w1, self._w2 = torch.ones(2, requires_grad=True), torch.ones(2)
                self.lin = torch.nn.Linear(2, 2)
            @property
            def size(self):
                raise ValueError
            def step(self):
                self.w1 = (self.w1 - 0.1).detach()
                return self.w1 + self._w2
        net = Net()
        net.__dict__["size"] = torch.ones(3)
        net.lin(net.w1).sum().backward()
        net.step()
        net.step()
        net.w3 = torch.ones(4)
        del net.w1
        net.w3 + 1
        """,
    "modules": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
                for block in self.blocks:
                    nn.init.zeros_(block.bias)
                self.norm = nn.BatchNorm1d(2)
                self.head = nn.Linear(2, 2, bias=False)
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x))
        net = Net()
        net(torch.ones(3, 2)).sum().backward()
        net.head = nn.Linear(2, 1)
        net.double()
        del net.norm
        other = net
        net = Net()
        net.head.weight = net.blocks[0].weight
        net(torch.ones(3, 2))
        """,
}


def plain(name: str) -> str:
    """A name that tells no number; empty for others."""
    while name.endswith(GRAD):
        name = name.removesuffix(GRAD)
    return "" if re.search(r"\(t\d+\)$|@\d+$|^t\d+$", name) else name


def check(trace: Trace) -> int:
    """How many plain names were shown; at most some 100 steps are asked."""
    known, bound, made, found = index(trace), dict[str, int](), dict[int, bool](), 0
    asked = max(len(trace) // 100, 1)
    for event in trace:
        match event:
            case ev.TensorCreated():
                made[event.tensor] = event.wrapped_number
            case ev.NameBound():
                bound[event.name] = event.tensor
            case ev.NameUnbound() if bound.get(event.name) == event.tensor:
                del bound[event.name]
        if event.seq % asked and not isinstance(event, ev.NameBound | ev.NameUnbound):
            continue
        names = {tensor: tensor_name(trace, tensor, event.seq) for tensor, number in made.items() if not number}
        assert len(set(names.values())) == len(names), "no two are called alike"
        holders = {known.shown(name): tensor for name, tensor in bound.items()}
        assert len(holders) == len(bound)
        for tensor, name in names.items():
            if (said := plain(name)) and said == name:
                assert holders[said] == tensor
                found += 1
    return found


@pytest.mark.parametrize("name", OWN)
def test_names_of_programs_that_name_much(name: str) -> None:
    assert check(traced(dedent(OWN[name]))) > 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_names_of_examples(path: Path) -> None:
    assert check(run(str(path)).trace)


@pytest.mark.parametrize("first", range(4))
def test_names_of_small_programs(first: int) -> None:
    for name in sorted(PROGRAMS)[first * 16 :: amount(128, 64)]:
        check(traced(f"import torch\n{PROGRAMS[name]}"))
