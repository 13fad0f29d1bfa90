"""The facts of the engine pane, checked against PyTorch: its headers for members and orders, running programs
otherwise.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine.accumulation import CASES, accumulation
from dispatchviz.explain.graph.engine.arrivals import arrivals
from dispatchviz.explain.graph.engine.buffer_conditions import buffer_conditions
from dispatchviz.explain.graph.engine.exec_info import VERDICTS, exec_info_at
from dispatchviz.explain.graph.engine.graph_task import graph_task_card
from dispatchviz.explain.graph.engine.needed_edges import needed_edges
from dispatchviz.explain.graph.engine.pass_stack import CPU_DEVICE, open_passes
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.views.panes.engine.running_rows import running_rows
from tests.conformance.pytorch_runs import run
from tests.explain.programs import traced
from truth.observers.runs import longest_path, preorder

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")

AUTOGRAD = Path(torch.__file__).parent / "include/torch/csrc/autograd"


def header(name: str) -> str:
    return (AUTOGRAD / name).read_text("utf-8")


# -- headers ----------------------------------------------------------------------------------------------------------


def test_the_card_has_every_member_of_the_struct() -> None:
    body = header("graph_task.h").partition("struct GraphTask :")[2].partition("// The guard that sets")[0]
    body = re.sub(r"//[^\n]*", "", body)
    body = re.sub(r"  struct ExecInfo \{.*?\n  \};\n", "", body, flags=re.DOTALL)
    members = set(re.findall(r"^  [\w:][\w:<>, *()]*?[ >](\w+)(?:\{[^}]*\})?;", body, re.MULTILINE))
    trace = traced("import torch\ntorch.ones(1, requires_grad=True).backward()\n")
    shown = {member.name for member in graph_task_card(trace, trace.steps_of(ev.BackwardStarted)[0])}
    assert {"keep_graph_", "leaf_streams", "reentrant_depth_", "id_"} <= members
    assert shown - members == {"can_checkpoint()"}
    assert members <= shown


def test_engine_constants_are_pytorchs() -> None:
    assert int(re.search(r"MAX_DEPTH = (\d+);", header("engine.h"))[1]) == MAX_DEPTH  # type: ignore[index]
    assert int(re.search(r"CPU_DEVICE = (-?\d+);", header("graph_task.h"))[1]) == CPU_DEVICE  # type: ignore[index]


def test_ready_queue_conditions_have_the_order_of_pytorch() -> None:
    body = header("engine.h").partition("struct CompareNodeTaskTime")[2].partition("std::condition_variable")[0]
    asked = re.findall(r"if \(([^{]*?)\) \{", body)
    assert [re.sub(r"\s+", " ", each) for each in asked] == [
        "t2.isShutdownTask_",
        "!t1.fn_ || t1.isShutdownTask_",
        "!t2.fn_",
        "t1.getReentrantDepth() == t2.getReentrantDepth()",
    ]
    returned = re.findall(r"return (.*?);", body)
    assert returned[-2:] == [
        "t1.fn_->sequence_nr() < t2.fn_->sequence_nr()",
        "t1.getReentrantDepth() < t2.getReentrantDepth()",
    ]


def test_accumulate_grad_conditions_have_the_order_of_pytorch() -> None:
    code = re.sub(r"\s*//[^\n]*", "", header("functions/accumulate_grad.h").partition("static void accumulateGrad(")[2])
    steals = code.partition("update_grad(new_grad.detach())")[0]
    terms = ["!variable_grad.defined()", "!GradMode::is_enabled()", "!new_grad.is_sparse()", "is_tensor_stealable(",
             "obeys_layout_contract(new_grad"]  # fmt: skip
    assert [steals.index(term) for term in terms] == sorted(steals.index(term) for term in terms)
    later = code.partition("else if (!GradMode::is_enabled())")[2]
    terms = ["variable_grad.is_sparse()", "inplaceIsVmapCompatible", "variable_grad += new_grad"]
    assert [later.index(term) for term in terms] == sorted(later.index(term) for term in terms)
    cases = header("functions/accumulate_grad.h")
    assert all(re.search(rf"Case {re.escape(case)}\b", cases) for case, _ in CASES.values())


# -- the Nodes that run -----------------------------------------------------------------------------------------------

LEAVES = "import torch\nx, y = (torch.full((2,), 2.0, requires_grad=True) for _ in range(2))\n"
GRAPH = "a = x * y\nb = a.exp()\nc = b * x\nd = c + y.sin()\ns = d.sum()\n"
ASKED = (
    "s.backward()", "s.backward(inputs=[x])", "s.backward(inputs=[y])", "s.backward(inputs=[b])",
    "torch.autograd.grad(s, y)", "torch.autograd.grad(s, [x, b])", "torch.autograd.grad(s, a)",
    "torch.autograd.grad(s, [c, y])",
)  # fmt: skip


@pytest.mark.parametrize("asked", ASKED)
def test_exec_info_is_pytorchs(asked: str) -> None:
    trace = traced(LEAVES + GRAPH + asked + "\n")
    (start,) = trace.steps_of(ev.BackwardStarted)
    shown = {place: _executes(trace, node) for place, node in enumerate(_ours(trace, start))}
    found = run(LEAVES + GRAPH)
    nodes, answers, numbers = preorder([found["s"].grad_fn]), dict[int, bool](), dict[Any, int]()
    found["s"].register_hook(lambda gradient: answers.update(_asked(nodes)))
    exec(asked, found)
    assert len(nodes) == len(shown)
    assert {place: shown[place] for place in answers if place} == {at: is_run for at, is_run in answers.items() if at}
    assert len(answers) >= len(nodes) - 2  # a captured leaf cannot be queried, and no edge leads to the root
    table = exec_info_at(trace, trace.ends[start])
    if table is not None:
        told_numbers = {each.node: each.topological_nr for kind in VERDICTS for each in table.entries(trace, kind, 99)}
        places = {node: place for place, node in enumerate(_ours(trace, start))}
        assert all(number == longest_path(nodes[places[node]], numbers) for node, number in told_numbers.items())


def _executes(trace: Trace, node: int) -> bool:
    (start,) = trace.steps_of(ev.BackwardStarted)
    table = exec_info_at(trace, trace.ends[start])
    if table is None:
        return True
    entries = {each.node: each for kind in VERDICTS for each in table.entries(trace, kind, 99)}
    return node in entries and entries[node].should_execute


def _ours(trace: Trace, start: int) -> Iterator[int]:
    """Yield the Nodes in preorder from the root."""
    backward, seen = backward_around(trace, start), set[int]()
    assert backward is not None
    stack = [node for node, _ in backward.event.roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            made = history(trace).edges(node, start)
            stack += [edge[0] for edge in reversed(made.edges) if edge] if made else []


def _asked(nodes: list[Any]) -> Iterator[tuple[int, bool]]:
    for place, node in enumerate(nodes):
        try:
            yield place, torch._C._will_engine_execute_node(node)
        except RuntimeError:
            continue


FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b
    @staticmethod
    def backward(ctx, grad):
        needs.append(ctx.needs_input_grad)
        return grad, grad
needs = []
s = F.apply(x.exp(), y).sum()
"""


def test_a_python_function_gets_true_for_edges_that_are_not_needed() -> None:
    trace = traced(LEAVES + FUNCTION + "torch.autograd.grad(s, y)\n")
    at = next(event for event in trace if isinstance(event, ev.NodeStarted) and event.name == "FBackward")
    assert [edge.computes for edge in needed_edges(trace, at, at.seq)] == [False, True]
    assert run(LEAVES + FUNCTION + "torch.autograd.grad(s, y)\n")["needs"] == [(True, True)]
    assert "a Python Function does not see this" in "".join(
        row.plain for row in running_rows(trace, at, at.seq, whole=True)
    )


@pytest.mark.parametrize("asked", ASKED)
def test_the_edges_that_are_needed_get_gradients(asked: str) -> None:
    trace = traced(LEAVES + GRAPH + asked + "\n")
    (start,) = trace.steps_of(ev.BackwardStarted)
    places = {node: place for place, node in enumerate(_ours(trace, start))}
    nodes = (event for event in trace if isinstance(event, ev.NodeStarted) and event.name.endswith("Backward0"))
    shown = {places[node.node]: [edge.computes for edge in needed_edges(trace, node, node.seq)] for node in nodes}
    found, given = run(LEAVES + GRAPH), dict[int, list[bool]]()
    for place, node in enumerate(preorder([found["s"].grad_fn])):
        if node.name().endswith("Backward0"):
            node.register_hook(lambda out, _, at=place: given.update({at: [each is not None for each in out]}))
    exec(asked, found)
    assert given == shown


def test_reentrant_checkpointing_is_refused_exactly_where_exec_info_is_filled() -> None:
    valid = "torch.autograd.Variable._execution_engine.is_checkpoint_valid()"
    watched = f"valid = []\ns.register_hook(lambda gradient: valid.append({valid}))\n"
    for asked in ASKED:
        trace = traced(LEAVES + GRAPH + asked + "\n")
        card = {member.name: member.value for member in graph_task_card(trace, trace.steps_of(ev.NodeStarted)[0])}
        found = run(LEAVES + GRAPH + watched + asked)
        assert [str(valid).lower() for valid in found["valid"]] == [card["can_checkpoint()"]]


# -- gradients that meet ----------------------------------------------------------------------------------------------

MODE = """
class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
"""
MEET = """import torch
import torch.utils._python_dispatch
kept = []
x = torch.ones(2, 2, requires_grad=True)
a = x * 2
"""
IN_PLACE = "in place"
SUMS = {
    "alone": ("b = x.exp()", "(a + b).sum().backward()", IN_PLACE),
    "create_graph": ("b = x.exp()", "(a + b).sum().backward(create_graph=True)", "!GradMode::is_enabled()"),
    "expanded": ("b = x.sum(0, keepdim=True)", "(a + b).sum().backward()", "old.is_non_overlapping_and_dense()"),
    "kept": (
        "b = x.exp()\nb.grad_fn.register_hook(lambda given, _: kept.append(given[0]))",
        "(a + b).sum().backward()",
        "use_count() of old and of its storage is 1",
    ),
    "its memory is kept": (
        "b = x.view(4)\nc = b.exp()\nb.register_hook(lambda gradient: kept.append(gradient) or None)",
        "(a.sum() + c.sum()).backward()",
        "use_count() of old and of its storage is 1",
    ),
    "mode": (MODE + "b = x.exp()", "with Mode():\n    (a + b).sum().backward()", "!isTensorSubclassLike(old)"),
    "a view of what is gone": (
        "b = x.t()\nc = b.exp()",
        "(a + c).sum().backward()",
        "use_count() of old and of its storage is 1",
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_gradients_are_summed_in_place_where_the_conditions_hold(name: str) -> None:
    made, backward, decides = SUMS[name]
    trace = traced(MEET + made + "\n" + backward + "\n")
    (added,) = [event for event in trace if isinstance(event, ev.GradientBuffered) and event.how != "stored"]
    terms = buffer_conditions(trace, added, _held(trace, added))
    assert [term.asked for term in terms if term.decides] == ([] if decides == IN_PLACE else [decides])
    assert [term.holds for term in terms] == sorted((term.holds for term in terms), key=[True, False, None].index)
    found = run(MEET + made)
    first, delivered = list[int](), list[int]()
    leaf = torch.autograd.graph.get_gradient_edge(found["x"]).node
    found["b"].grad_fn.register_hook(lambda given, _: first.append(given[0].data_ptr()))
    leaf.register_prehook(lambda grads: delivered.append(grads[0].data_ptr()))
    exec(backward, found)
    assert (first == delivered) == (decides == IN_PLACE), name
    assert (added.how == "added in place") == (decides == IN_PLACE)


def _held(trace: Trace, added: ev.GradientBuffered) -> int | None:
    backward = backward_around(trace, added.seq)
    assert backward is not None
    return arrivals(trace, backward, added.node, added.seq)[added.input_nr][-2].holds


# -- gradients of leaves ----------------------------------------------------------------------------------------------

POST_HOOK = "leaf = torch.autograd.graph.get_gradient_edge(x).node\nleaf.register_hook(lambda out, given: None)\n"
WRITES = {
    "stolen": ("(x * 2).sum().backward()", "1.1", ""),
    "shared": ("(x + y).exp().sum().backward()", "1.5", "is_tensor_stealable(new_grad)"),
    "kept by a hook": (
        "x.register_hook(lambda gradient: kept.append(gradient) or None)\n(x * 2).sum().backward()",
        "1.5",
        "is_tensor_stealable(new_grad)",
    ),
    "with a post hook": (POST_HOOK + "(x * 2).sum().backward()", "1.1", ""),
    "create_graph": ("(x * x).sum().backward(create_graph=True)", "1.5", "!GradMode::is_enabled()"),
    "expanded": ("(x.sum()).backward()", "1.5", "obeys_layout_contract(new_grad)"),
    "not enforced": ("with torch.autograd.enforce_grad_layout_policy(False): x.sum().backward()", "1.1", ""),
    "again": ("x.grad = torch.ones(2)\n(x * 2).sum().backward()", "2.3", ""),
    "again with create_graph": (
        "x.grad = torch.ones(2)\n(x * x).sum().backward(create_graph=True)",
        "3.2",
        "!GradMode::is_enabled()",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_case_of_accumulate_grad_is_pytorchs(name: str) -> None:
    body, case, decides = WRITES[name]
    source = LEAVES + "kept = []\n" + body
    trace = traced(source + "\n")
    found = [accumulation(trace, event) for event in trace if isinstance(event, ev.GradientAccumulated)]
    assert found[0].case == case
    assert [term.asked for term in found[0].conditions if term.decides] == ([decides] if decides else [])
    allowed = [term.means for term in found[0].conditions if term.asked.startswith("is_tensor_stealable")]
    assert all(("<= 2" in means) == (POST_HOOK in body) for means in allowed)
    assert _case_of(source) == case


def _case_of(source: str) -> str:
    """Return the case by the memory of the arriving gradient, and of ``.grad`` before and after."""
    head, _, last = source.rpartition("\n")
    names, arrived = run(head), list[int]()
    leaf = names["x"]
    before, node = leaf.grad, torch.autograd.graph.get_gradient_edge(leaf).node
    node.register_prehook(lambda grads: arrived.append(grads[0].data_ptr()))
    exec(last, names)
    if before is not None:
        return "2.3" if leaf.grad is before else "3.2"
    return "1.1" if leaf.grad.data_ptr() == arrived[0] else "1.5"


# -- threads, nested passes, callbacks --------------------------------------------------------------------------------

DEEP = """
import threading
import torch
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, left):
        ctx.left = left
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        idents.append(threading.get_ident())
        if ctx.left:
            with torch.enable_grad():
                x = torch.ones(1, requires_grad=True)
                Again.apply(x, ctx.left - 1).backward()
        return grad, None
idents = []
Again.apply(torch.ones(1, requires_grad=True), LEFT).backward()
"""


def test_a_pass_that_is_too_deep_runs_on_a_thread_of_the_pool() -> None:
    source = DEEP.replace("LEFT", "124")
    theirs = run(source)["idents"]
    trace = traced(source)
    starts = trace.steps_of(ev.BackwardStarted)
    passes = open_passes(trace, starts[-1])
    assert [each.started.depth for each in passes] == list(range(125))
    threads = list(dict.fromkeys(theirs))
    assert [threads.index(ident) for ident in theirs] == [each.pool_thread for each in passes]
    assert max(each.started.depth % (MAX_DEPTH + 1) for each in passes) == MAX_DEPTH
    assert theirs[0] == threading.get_ident()


def test_nodes_of_meta_tensors_run_on_the_calling_thread() -> None:
    idents: list[int] = []
    x = torch.ones(2, device="meta", requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: idents.append(threading.get_ident()))
    y.sum().backward()
    assert idents == [threading.get_ident()]


CALLBACKS = """
import torch
ran = []
queue = torch.autograd.Variable._execution_engine.queue_callback
x = torch.ones(2, requires_grad=True)
def second(): ran.append(("second", x.grad is not None))
def first():
    ran.append(("first", x.grad is not None))
    queue(second)
def third(): ran.append(("third", x.grad is not None))
y = x * 2
y.register_hook(lambda gradient: queue(first))
x.register_hook(lambda gradient: queue(third))
y.sum().backward()
"""


def test_final_callbacks_run_in_the_order_in_which_they_were_queued() -> None:
    trace = traced(CALLBACKS)
    queued = [event.function for event in trace if isinstance(event, ev.FinalCallbackQueued)]
    called = [event.function for event in trace if isinstance(event, ev.FinalCallbackCalled)]
    assert run(CALLBACKS)["ran"] == [(name, True) for name in called]
    assert queued == called == ["first", "third", "second"]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        torch.autograd.Variable._execution_engine.queue_callback(print)
