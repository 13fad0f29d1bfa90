"""Check that each listed owner keeps its Node alive, and that the Node is freed when all listed owners release it."""

from __future__ import annotations

import builtins
import gc
import weakref
from typing import Any

import pytest

from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.explain.things.answer import Answer
from dispatchviz.explain.things.keepers import is_freed, keepers, unknown_tensors
from dispatchviz.explain.things.node_questions import KEPT, node_questions
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.trace import Trace
from tests.amounts import some
from tests.core.autograd.deletion_programs import PROGRAMS
from tests.explain.programs import traced
from truth import programs

HEAD = "import torch\nx = torch.ones(2, requires_grad=True)\ntag = lambda *_: None\nTag = str\n"


class Seen:
    """The objects at the marks of a program."""

    def __init__(self) -> None:
        self.claims = self.dropped = 0

    def mark(self, text: str) -> None:
        """Compare the answers with the live objects."""
        trace = so_far()
        rec = recorder.active
        assert rec is not None
        live, tensors = alive(Node, rec.first_node), alive(Tensor, rec.first_tensor)
        at = len(trace) - 1
        for event in trace:
            if isinstance(event, ev.NodeCreated) and not is_freed(trace, event.node, at):
                self._check(trace, event.node, live[event.node], tensors, live)

    def _check(self, trace: Trace, number: int, node: Any, tensors: dict[int, Any], live: dict[int, Any]) -> None:
        """Assert that each listed owner holds the Node, and that other owners are tensors about which nothing is
        known.
        """
        at = len(trace) - 1
        told = list(keepers(trace, number, at))
        by_tensors = {answer.thing.number for answer in told if isinstance(answer.thing, TensorThing)}
        by_edges = {answer.thing.number for answer in told if isinstance(answer.thing, NodeThing)}
        self.claims += len(told)
        holding = {n for n, tensor in tensors.items() if tensor._grad_fn is node}
        assert by_tensors <= holding <= by_tensors | set(unknown_tensors(trace, number, at))
        assert by_edges == {n for n, other in live.items() if any(edge.function is node for edge in other.next_edges)}

    def finish(self) -> None:
        """Release the listed owners of each Node, one Node after the other. If all owners are listed, the Node is
        freed.
        """
        self.mark("")
        trace, rec = so_far(), recorder.active
        assert rec is not None
        at, first_tensor = len(trace) - 1, rec.first_tensor
        nodes = {number: weakref.ref(node) for number, node in alive(Node, rec.first_node).items()}
        told = {number: list(keepers(trace, number, at)) for number in nodes}
        for number, answers in told.items():
            let_go(answers, nodes, number, first_tensor)
            if nodes[number]() is None:
                self.dropped += 1
            else:
                assert unknown_tensors(trace, number, at) or in_python(nodes[number]()), answers


def in_python(node: Any) -> bool:
    """Return whether the program itself holds the Node in a variable, a list or an attribute."""
    return any(isinstance(each, (dict, list, tuple)) for each in gc.get_referrers(node))


def let_go(answers: list[Answer], nodes: dict[int, Any], number: int, first_tensor: int) -> None:
    node = nodes[number]()
    for answer in answers:
        if isinstance(answer.thing, TensorThing):
            alive(Tensor, first_tensor)[answer.thing.number]._grad_fn = None
        elif isinstance(answer.thing, NodeThing) and (keeper := nodes[answer.thing.number]()) is not None:
            keeper.next_edges = [EMPTY_EDGE if edge.function is node else edge for edge in keeper.next_edges]


def alive(kind: type, first: int) -> dict[int, Any]:
    """Return all objects of a kind that a recording has numbered, by number."""
    found = (each for each in gc.get_objects() if issubclass(type(each), kind))
    return {each._number - first: each for each in found if each._number >= first}


def so_far() -> Trace:
    assert recorder.active is not None
    return Trace(Header(cuda="", program="p"), tuple(recorder.active.events))


def checked(source: str, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Run and record a program on the model, and check all its Nodes at its marks and at its end."""
    seen, errors = Seen(), list[BaseException]()

    def finish() -> None:
        try:
            seen.finish()
        except BaseException as error:
            errors.append(error)

    monkeypatch.setattr(builtins, "mark", seen.mark, raising=False)
    monkeypatch.setattr(builtins, "finish", finish, raising=False)
    traced(f"{source}\nfinish()\n")
    if errors:
        raise errors[0]
    return seen


@pytest.mark.parametrize("name", some(list(PROGRAMS), 3))
def test_listed_owners_are_all_that_keep_a_node(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked(HEAD + PROGRAMS[name][0], monkeypatch)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_references_of_the_program_keep_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = ("autograd", "functions", "hooks", "in_place", "views")
    sources = [source for subject in subjects for source in list(programs.SUBJECTS[subject].values())[::6]]
    seen = [checked(source, monkeypatch) for source in sources]
    assert sum(each.claims for each in seen) > 40
    assert sum(each.dropped for each in seen) > 20


ENGINE = """
import torch
x = torch.ones(2, requires_grad=True)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x + 1
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
Double.apply(x).exp().sum().backward()
y = x * 2
y.exp_()
"""


def kept(trace: Trace, node: str, at: int) -> list[str]:
    number = next(event.node for event in trace if isinstance(event, ev.NodeCreated) and event.name == node)
    question = next(each for each in node_questions(trace, number, at) if each.asked == KEPT)
    return [answer.text for answer in question.answers] or [question.none]


def test_kernel_function_and_engine_keep_a_node() -> None:
    trace = traced(ENGINE)
    add = next(event.seq for event in trace if isinstance(event, ev.Dispatched) and "add" in event.operator)
    assert kept(trace, "DoubleBackward", add) == ["the forward of its Function, as ctx"]
    runs = next(event for event in trace if isinstance(event, ev.NodeStarted) and event.name == "ExpBackward0")
    assert kept(trace, "ExpBackward0", runs.seq) == ["SumBackward0, through its edge 0", "the engine: it runs"]
    assert kept(trace, "SumBackward0", runs.seq) == ["the backward pass that runs: it is its root"]
    queued = next(event for event in trace if isinstance(event, ev.NodeQueued) and event.node == runs.node)
    assert kept(trace, "ExpBackward0", queued.seq)[-1] == "the engine: it waits in the ready queue"
    made = next(event for event in trace if isinstance(event, ev.EdgesCollected) and event.node == runs.node)
    assert kept(trace, "ExpBackward0", made.seq) == ["VariableType::exp, which makes it"]
    assert kept(trace, "ExpBackward0", len(trace) - 1) == ["nothing: it has been freed"]


def test_written_tensor_no_longer_keeps_its_old_node() -> None:
    trace = traced(ENGINE)
    end = len(trace) - 1
    assert kept(trace, "MulBackward0", end) == [
        "ExpBackward0 (n6), through its edge 0",
        "no longer y: after this step it has ExpBackward0 (n6) as its grad_fn",
    ]


def test_unknown_owner_is_reported_as_unknown() -> None:
    trace = traced("import torch\nn = (torch.ones(2, requires_grad=True) * 2).grad_fn\nm = torch.ones(1)")
    (none,) = kept(trace, "MulBackward0", len(trace) - 1)
    assert none.endswith("whose grad_fn it is, or a Python reference, which the recording does not show")
