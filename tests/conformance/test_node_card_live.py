"""A Node's card: its members are those in the headers and Python of the installed PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dispatchviz.core.autograd.graph.node import TraceableFunction
from dispatchviz.core.generated import nodes
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.node import members
from dispatchviz.explain.graph.node.node_hooks import HOOK_KINDS, ORDER
from dispatchviz.explain.graph.node.node_state import node_state
from tests.conformance.pytorch_runs import run
from tests.explain.programs import traced
from truth.observers.runs import preorder

torch = pytest.importorskip("torch")

EVERY_HOOK = """
import torch
ran = []
x = torch.ones(2, requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda inputs, outputs: ran.append("post hook"))
y.grad_fn.register_prehook(lambda outputs: ran.append("before retains-grad hook" if y.grad is None else "pre hook"))
y.retain_grad()
y.register_hook(lambda gradient: ran.append("tensor pre hook" if y.grad is None else "after retains-grad hook"))
x.register_post_accumulate_grad_hook(lambda leaf: ran.append("post-accumulate hook"))
"""


def test_hooks_run_in_the_order_of_the_card() -> None:
    ran = run(EVERY_HOOK + "y.sum().backward()\n")["ran"]
    assert ran == ["tensor pre hook", "pre hook", "post hook", "post-accumulate hook"]
    of_one_node = [kind for kind in ORDER if kind in ran and kind != "post-accumulate hook"]
    assert [kind for kind in ran if kind in of_one_node] == of_one_node
    assert ORDER.index("tensor pre hook") < ORDER.index("retains-grad hook") < ORDER.index("pre hook")


def test_a_node_that_is_only_captured_runs_two_kinds_of_hooks() -> None:
    found = run(EVERY_HOOK + "torch.autograd.grad(y.sum(), y)\n")
    assert found["ran"] == ["tensor pre hook"]
    assert found["y"].grad is not None  # its retains-grad hook has run


def test_post_hooks_of_accumulate_grad_run_after_those_of_the_leaf() -> None:
    found = run(
        EVERY_HOOK + "leaf = y.grad_fn.next_functions[0][0]\n"
        "leaf.register_hook(lambda inputs, outputs: ran.append('post hook of the leaf'))\n"
        "y.sum().backward()\n"
    )
    assert found["ran"][-2:] == ["post-accumulate hook", "post hook of the leaf"]


MOVED = """
import torch
got = []
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda gradient: got.append(gradient.tolist()))
y.retain_grad()
y.mul_(3)
y.sum().backward()
"""


def test_a_retains_grad_hook_goes_along_and_a_tensor_pre_hook_stays() -> None:
    found = run(MOVED)
    assert found["y"].grad.tolist() == [1, 1]  # of the present y
    assert found["got"] == [[3, 3]]  # of the y at the registration of the hook
    moved = [event for event in traced(MOVED) if isinstance(event, ev.HookRegistered) and event.moved]
    assert [event.kind for event in moved] == ["retains-grad hook"]


PLACEHOLDER = """
import torch
got = []

class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x[:1] * 2, None

    @staticmethod
    def backward(ctx, gradient, none):
        got.append(none)
        return torch.cat([gradient * 2, gradient * 0])

y, _ = Halves.apply(torch.ones(2, requires_grad=True))
y.sum().backward()
"""


def test_the_placeholder_of_an_undefined_output_gets_no_gradient() -> None:
    found = run(PLACEHOLDER)
    node = found["y"].grad_fn
    assert (len(node._input_metadata), found["got"]) == (2, [None])
    for gradient in (torch.ones(()), torch.ones((), dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="was_default_constructed_ INTERNAL ASSERT FAILED"):
            torch.autograd.backward(torch.autograd.graph.GradientEdge(node, 1), gradient)
    [added] = [event for event in traced(PLACEHOLDER) if isinstance(event, ev.UndefinedInputAdded)]
    assert added.input_nr == 1


ANOMALY = """
import torch
x = torch.ones(2, requires_grad=True)
{within}:
    y = (x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
"""


@pytest.mark.parametrize(
    "within", ["with torch.set_grad_enabled(True)", "with torch.autograd.set_detect_anomaly(True)"]
)
def test_anomaly_mode_keeps_the_stack_and_the_parent(within: str) -> None:
    source = ANOMALY.format(within=within)
    real, trace = _metadata(run(source)["g"].grad_fn), traced(source)
    names = {event.node: event.name for event in trace if isinstance(event, ev.NodeCreated)}
    stored = {event.node for event in trace if isinstance(event, ev.StackStored)}
    parents = {event.node: names[event.parent_node] for event in trace if isinstance(event, ev.ParentAssigned)}
    made = sorted((names[node].rpartition("::")[2], node in stored, parents.get(node, "")) for node in names)
    assert {each for each in made if each[0] in real} >= {(name, *facts) for name, facts in real.items()}


def _metadata(root: Any) -> dict[str, tuple[bool, str]]:
    """Return for each kind of Node behind one whether it has a stack, and the parent's name."""
    found = {}
    for node in preorder([root]):
        parent = node.metadata.get("parent_")
        found[_plain(node)] = "traceback_" in node.metadata, "" if parent is None else _plain(parent)
    return found


def _plain(node: Any) -> str:
    return str(node.name()).rpartition("::")[2]


PROGRAMS = {
    "grad mode is off": "x = leaf()\nwith torch.no_grad():\n    x.mul_(2)\n",
    "no argument requires grad": "x = torch.ones(2)\nx.mul_(2)\n",
    "it does not require grad": "x, w = torch.ones(2), leaf()\nx.mul_(w)\n",
    "it is not a leaf": "x = leaf() * 1\nx.mul_(2)\n",
    "view whose creation_meta forbids it": "x = (leaf() * 1).unbind()[0]\nx.mul_(2)\n",
    "view of a leaf that requires grad": "x = leaf().view(2, 1)\nx.mul_(2)\n",
    "leaf that requires grad": "x = leaf()\nx.mul_(2)\n",
}
LEAF = "import torch\nleaf = lambda: torch.ones(2, requires_grad=True)\n"


@pytest.mark.parametrize("why", PROGRAMS)
def test_check_inplace_allows_what_pytorch_allows(why: str) -> None:
    try:
        run(LEAF + PROGRAMS[why])
        raised = ""
    except RuntimeError as error:
        raised = str(error)
    trace = traced(LEAF + PROGRAMS[why])
    checked = [event for event in trace if isinstance(event, ev.InplaceChecked)][-1]
    assert (checked.why, checked.allowed) == (why, not raised)


def test_an_allowed_write_in_place_leaves_the_stated_history() -> None:
    found = run(LEAF + PROGRAMS["it does not require grad"])
    assert type(found["x"].grad_fn).__name__ == "MulBackward0"
    assert type(run(LEAF + PROGRAMS["it is not a leaf"])["x"].grad_fn).__name__ == "MulBackward0"
    assert run(LEAF + PROGRAMS["grad mode is off"])["x"].grad_fn is None


def test_the_node_with_the_larger_sequence_number_runs_first() -> None:
    source = (
        "import torch\nran = []\nx = torch.ones(2, requires_grad=True)\na, b = x * 2, x * 3\n"
        "a.grad_fn.register_prehook(lambda g: ran.append('a'))\nb.grad_fn.register_prehook(lambda g: ran.append('b'))\n"
        "{}torch.autograd.backward(a.sum() + b.sum())\n"
    )
    assert run(source.format(""))["ran"] == ["b", "a"]
    assert run(source.format("a.grad_fn._set_sequence_nr(2**62)\n"))["ran"] == ["a", "b"]


INCLUDE = Path(torch.__file__).parent / "include"

BOOKKEEPING = re.compile("retain_variables|.*_released_")
"""The members of Nodes that save lists which record releases."""


class Declared(NamedTuple):
    """A class of Functions.h."""

    base: str
    tensors: frozenset[str]
    values: frozenset[str]


@cache
def classes() -> dict[str, Declared]:
    text = (INCLUDE / "torch/csrc/autograd/generated/Functions.h").read_text("utf-8")
    found = re.finditer(r"struct TORCH_API (\w+) : public (\w+) \{\n#endif(.*?)\n\};", text, re.DOTALL)
    return {name: Declared(base, *map(frozenset, _members(body))) for name, base, body in (m.groups() for m in found)}


def _members(body: str) -> tuple[list[str], list[str]]:
    declared = re.findall(r"^  ([\w:<>, ]+?) (\w+)(?: = [^;]+)?;$", body, re.MULTILINE)
    own = [(kind, name) for kind, name in declared if kind != "using" and not BOOKKEEPING.fullmatch(name)]
    tensors = [name.removesuffix("_") for kind, name in own if "SavedVariable" in kind]
    return tensors, [name for kind, name in own if "SavedVariable" not in kind]


def ours() -> Iterator[str]:
    return (name for name in classes() if hasattr(nodes, name))


def test_all_classes_keep_what_pytorchs_keep() -> None:
    different = {}
    for name in ours():
        declared, state = classes()[name], node_state(name)
        assert state is not None
        if (frozenset(state.tensors), frozenset(state.values)) != declared[1:]:
            different[name] = declared, state
    assert different == {}
    assert len(list(ours())) > 400


def test_classes_are_traceable_as_pytorchs_are() -> None:
    bases = {
        name: "TraceableFunction" if issubclass(getattr(nodes, name), TraceableFunction) else "Node" for name in ours()
    }
    assert bases == {name: classes()[name].base for name in bases}


@pytest.mark.parametrize("member", members.ALL, ids=lambda member: member.name)
def test_every_member_is_declared(member: members.Member) -> None:
    text = (INCLUDE / member.file.removeprefix("aten/src/")).read_text("utf-8")
    assert re.search(rf"(?<!\w){re.escape(member.name)}(?!\w)", text)


def test_the_members_of_hooks_are_declared() -> None:
    text = (INCLUDE / members.NODE).read_text("utf-8")
    assert [member for _, member, _ in HOOK_KINDS if not re.search(rf"\b{member}\(\)", text)] == []
    assert "NoNamesGuard" not in text
