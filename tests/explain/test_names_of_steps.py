"""Names of steps, and names of tensors and Nodes."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.trace_index.derived_names import TRANSPOSED, derived
from dispatchviz.explain.trace_index.display_names import (
    GRAD,
    described,
    node_name,
    node_title,
    tensor_name,
    tensor_names,
    with_names,
)
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from tests.amounts import amount
from tests.steps import last_step, step, steps
from truth.programs import PROGRAMS

from .founding import ACCUMULATE, ADD, EXPANDED, SUM, Tape, X, Y, Z, founding
from .programs import traced

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

OWN = {
    "iterations": """
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
    """The name of a tensor if it has no number; empty for other names."""
    while name.endswith(GRAD):
        name = name.removesuffix(GRAD)
    return "" if re.search(r"\(t\d+\)$|@\d+$|^t\d+$", name) else name


def is_first(trace: Trace, tensor: int, at: int) -> bool:
    """Return whether a tensor is called by one that no variable names yet, and the variable names none."""
    away, known = derived(trace, tensor), index(trace)
    coming = "" if away is None else known.coming_name(away.tensor, at)
    return bool(coming) and known.holder(coming, at) is None


def check(trace: Trace) -> int:
    """Check the names of at most 100 steps, and return the number of plain names."""
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
        away = {tensor: each for tensor in names if (each := derived(trace, tensor)) and each.suffix in names[tensor]}
        own = [name for tensor, name in names.items() if tensor not in away or away[tensor].suffix != TRANSPOSED]
        assert len(set(own)) == len(own), "no two are called alike, but transposes of one matrix"
        holders = {known.shown(name): tensor for name, tensor in bound.items()}
        assert len(holders) == len(bound)
        for tensor, name in names.items():
            if (said := plain(name)) and said == name:
                variable, _, _ = said.partition(away[tensor].suffix if tensor in away else " ")
                assert holders.get(variable) == (away[tensor].tensor if tensor in away else tensor) or is_first(
                    trace, tensor, event.seq
                )
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


TRACE = founding()
END = last_step(TRACE)


def test_a_name_holds_from_the_step_that_binds_it() -> None:
    bound = step(TRACE, ev.NameBound, 2)
    assert tensor_name(TRACE, Z, bound - 1) == "z (t2)"
    assert tensor_name(TRACE, Z, bound) == "z"
    assert tensor_name(TRACE, SUM, END) == "t3"


@pytest.mark.parametrize("name", ["loss", "loss (t3)"])
def test_a_sentence_that_begins_with_a_variable_begins_with_a_small_letter(name: str) -> None:
    assert capital(f"{name} does not require grad", (name,)) == f"{name} does not require grad"
    assert capital("none of them requires grad", (name,)) == "None of them requires grad"


def test_a_hook_is_kept_by_the_variable_as_the_program_writes_it() -> None:
    trace = traced("""\
        import torch
        weight = torch.ones(2, requires_grad=True)
        weight.register_hook(print)
        loss = weight.sum()
        loss.retain_grad()
        loss.mul_(2)
    """)
    said = [why.text for at in trace.steps_of(ev.HookRegistered) for why in statements(trace, at)]
    assert [text.split()[0] for text in said] == ["weight", "SumBackward0", "loss"]


def test_the_gradient_of_a_leaf_is_called_after_it_once_it_is_written() -> None:
    written = step(TRACE, ev.GradientAccumulated)
    assert tensor_name(TRACE, EXPANDED + 1, written - 1) == "t6"
    assert tensor_name(TRACE, EXPANDED + 1, written) == "x.grad"


def test_a_variable_that_moves_on_takes_its_name_along() -> None:
    tape = Tape()
    for name, tensor in (("a", 0), ("b", 0), ("b", 1), ("a", 1)):
        tape.add(ev.NameBound, name, tensor)
    trace = tape.trace()
    bound = steps(trace, ev.NameBound)
    assert [tensor_name(trace, 0, at) for at in bound] == ["a", "b", "a", "earlier b (t0)"]
    assert [tensor_name(trace, 1, at) for at in bound] == ["b (t1)", "b (t1)", "b", "a"]


def test_list_of_tensors_names_each_once() -> None:
    assert tensor_names(TRACE, [X, Y, X], END) == "x and y"
    assert tensor_names(TRACE, [X, Y, Z], END) == "x, y and z"


def test_node_names_have_a_number_only_if_needed() -> None:
    assert node_name(TRACE, ADD) == "AddBackward0 (n0)"
    assert node_title(TRACE, ADD) == "AddBackward0"
    assert node_name(TRACE, ACCUMULATE) == node_title(TRACE, ACCUMULATE) == "AccumulateGrad (x)"
    assert node_name(TRACE, 99) == "Node (n99)"


def test_nodes_with_equal_names_get_numbers() -> None:
    tape = Tape()
    for node in range(2):
        tape.add(ev.NodeCreated, node, "AddBackward0", node, 0, 1)
    assert [node_title(tape.trace(), node) for node in range(2)] == ["AddBackward0 (n0)", "AddBackward0 (n1)"]


def test_a_leaf_that_is_named_late() -> None:
    tape = Tape()
    tape.add(ev.NodeCreated, 0, "torch::autograd::AccumulateGrad", 2**64 - 1, 0, 1)
    tape.add(ev.AccumulatorMade, 0, 7)
    bound = tape.add(ev.NameBound, "w", 7)
    trace = tape.trace()
    assert node_name(trace, 0, at=bound - 1) == "AccumulateGrad (w (t7))"
    assert node_name(trace, 0) == node_name(trace, 0, at=bound) == "AccumulateGrad (w)"


def test_texts_with_numbers() -> None:
    assert with_names(TRACE, "[t0, t1], t12, at0", END) == "[x, y], t12, at0"


def test_tensor_description_has_shape_dtype_and_device() -> None:
    assert described(TRACE, SUM, len(TRACE)) == "[] float32 on cuda:0"
    assert described(TRACE, 99, len(TRACE)) == ""
