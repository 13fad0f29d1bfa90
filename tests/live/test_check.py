"""``dispatchviz check``: the model and the installed PyTorch run the same programs with the same results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from dispatchviz.cli.check_json import check_json
from dispatchviz.cli.check_runs import check_cuda, check_model_has_all, checked, two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.checked import (
    Checked,
    alike,
    checked_traces,
    keys_called,
    operators_that_differ,
)
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.seen_by_both import seen_by_both
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import examples, folder
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison.two_runs import Side
from dispatchviz.views.cards.check_text import check_lines
from dispatchviz.views.text.console import Console
from tests.amounts import in_turn

PROGRAM = """
import torch
x = torch.ones(2, 3, requires_grad=True)
y = torch.full((3,), 2.0)
z = (x * y + 1).sum()
z.backward()
print(x.grad)
"""
WITHOUT_BACKWARD = PROGRAM.replace("z.backward()", "pass")

FOR_CUDA = frozenset({"broadcast", "forum", "wrapper_subclass"})
"""Examples that make tensors on cuda."""


def shipped() -> list[str]:
    """Return the programs that ship, except those that raise an error message each."""
    found = [path.relative_to(folder()).with_suffix("").as_posix() for path in sorted(folder().rglob("*.py"))]
    return [name for name in found if not name.startswith("errors/")]


def traced(program: str) -> Trace:
    return run(Code(program)).trace


def said(found: Checked) -> str:
    console = Console(100, False)
    return "\n".join(check_lines(found, ("in the model", "in PyTorch"), console, every=True))


def test_a_run_is_as_itself() -> None:
    trace = traced(PROGRAM)
    assert checked_traces(trace, traced(PROGRAM)).same
    assert "did the same as the model" in said(checked_traces(trace, trace))


def test_a_backward_that_only_one_ran_is_a_difference() -> None:
    found = checked_traces(traced(PROGRAM), traced(WITHOUT_BACKWARD))
    assert not found.same
    assert "in the model" in said(found)


def test_a_call_that_finds_no_kernel_is_left_out() -> None:
    program = """
import torch
library = torch.library.Library("shop", "FRAGMENT")
library.define("cost(Tensor x) -> Tensor")
try:
    torch.ops.shop.cost(torch.ones(2))
except NotImplementedError:
    pass
"""
    calls = [event for event in seen_by_both(traced(program)) if isinstance(event, ev.Dispatched)]
    assert [call.key for call in calls if call.operator == "shop::cost"] == ["AutogradCPU"]


def test_passing_another_tensor_is_a_difference() -> None:
    mul = "import torch\nx = torch.ones(2)\ny = torch.ones(2)\nz = x * {}\n"
    assert not checked_traces(traced(mul.format("x")), traced(mul.format("y"))).same


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("loss 0.50001", "loss 0.5", True),
        ("loss 0.51", "loss 0.5", False),
        ("<A object at 0x7f1fa9bf0fe0>", "<A object at 0x7f1fa9481530>", True),
        ("<A object at 0x7f1fa9bf0fe0>", "<B object at 0x7f1fa9bf0fe0>", False),
        ("from 'torch/_ops.py' aten/src/A.cpp:3", "from '/v/site-packages/torch/_ops.py' /b/p/aten/src/A.cpp:3", True),
        ("from 'torch/_ops.py'", "from '/v/site-packages/torch/ops.py'", False),
        ("/home/a/x.py", "/home/b/x.py", False),
    ],
)
def test_digits_addresses_and_folders_of_pytorch_are_alike(ours: str, theirs: str, same: bool) -> None:
    assert alike(ours, theirs) is same


def test_pytorch_without_cuda_cannot_check_a_program_for_cuda() -> None:
    model = traced("import torch\ntorch.ones(2, device='cuda')\n")
    header = msgspec.structs.replace(model.header, cuda="CPU", pytorch="2.14.1+cpu", engine="torch")
    with pytest.raises(DispatchvizError, match="uses cuda"):
        check_cuda(Trace(header, ()), model)


def ended(program: str, as_pytorch: str) -> None:
    """Check a program against another one in PyTorch's place."""
    check_model_has_all(checked_traces(traced(program), traced(as_pytorch)))


LACKING = "import torch\nx = torch.ones(2)\ny = x * x\ntorch.sparse.sum\n"


def test_report_of_a_program_that_the_model_lacks_has_the_equal_part() -> None:
    nothing = "import torch\ntorch.sparse.sum\n"
    with pytest.raises(DispatchvizError, match=r"^nothing to compare.* line 2: torch\.sparse is not in"):
        ended(nothing, nothing.replace(".sparse", ""))
    with pytest.raises(DispatchvizError, match=r"line 1: .* torch\.func\.functionalize is not in"):
        ended("from torch.func import functionalize\n", "import torch\n")
    imported = "import torch\nx = torch.ones(2)\nimport torch._vmap_internals\n"
    with pytest.raises(DispatchvizError, match=r"line 3: No module named 'torch\._vmap_internals'.* Before that line"):
        ended(imported, imported.replace("._vmap_internals", "") + "x + x\n")
    with pytest.raises(DispatchvizError, match=r"line 4: torch\.sparse .* Before that line, .*: [0-9]+ calls$"):
        ended(LACKING, LACKING.replace("torch.sparse.sum", "(x + y).sum()"))
    fails = "import torch\ntorch.ones(2).view(3)\n"
    ended(fails, fails)


def test_differences_before_the_model_stops_are_shown() -> None:
    ended(LACKING, LACKING.replace("x * x", "x + x").replace("torch.sparse.sum", "x.sum()"))
    ended(LACKING, LACKING.replace("y = x * x", "y = 0"))


def test_models_own_remark_is_reported(tmp_path: Path) -> None:
    program = (
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "for _ in range(2):\n    for one in DataLoader([1, 2], num_workers=1): print(one)\n"
    )
    command = (sys.executable, "-m", "dispatchviz", "trace", "--save", tmp_path / "a.jsonl", "-c", program)
    subprocess.run(command, check=True, capture_output=True)  # pytest has the warnings of this process
    trace = Trace.load(tmp_path / "a.jsonl")
    assert "Line 4: dispatchviz's model of PyTorch has no worker processes" in said(checked_traces(trace, trace))


def test_a_replaced_gradient_is_that_which_the_node_gets() -> None:
    trace = seen_by_both(traced(PROGRAM.replace("z.backward()", "z.register_hook(lambda g: g * 2)\nz.backward()")))
    first = next(event for event in trace if isinstance(event, ev.NodeStarted))
    (result,) = (event.tensors for event in trace if event.seq == _last_return_before(trace, first.seq))
    assert first.gradients == result


def _last_return_before(trace: Trace, step: int) -> int:
    return max(seq for seq in trace.steps_of(ev.KernelReturned) if seq < step)


@pytest.mark.torch
def test_unseeded_random_numbers_are_the_same_in_both() -> None:
    program = "import random, torch\nprint(torch.rand(2), random.random(), {'a', 'b', 'c'})\n"
    assert two_runs(Code(program), ()).same


SEEN_ALIKE = {
    # A member that holds no tensor, histories that are set and not rebased, a wrapper that a fallback hands back.
    "in place": """
x = torch.ones(2, requires_grad=True)
y = x.clone().mul_(2).unsqueeze_(1)
z = y.t()
z.squeeze_(0)
y.mul_(3)
y.sum().backward()
torch.func.grad(lambda x: x.clone().mul_(2).unsqueeze_(1).sum())(torch.ones(2))
""",
    # A kernel of Python's that PyTorch registers itself.
    "a kernel of Python's that PyTorch registers itself": """
scores, labels = torch.ones(3, 1, 4), torch.zeros(3, 1, dtype=torch.long)
torch.func.vmap(torch.nn.functional.cross_entropy)(scores, labels)
""",
    # Tensors that get the Conjugate and Negative bit when they are known already.
    "bits of known tensors": """
z = torch.ones(2, 2, dtype=torch.complex64).conj()
z == z.mH
z.imag + 1
""",
    "a class that is called": """
class Own(torch.Tensor):
    pass
print(type(Own(torch.ones(2))), Own([1.0, 2.0]).sum(), Own(2, 3).shape)
""",
    "several roots": """
x = torch.ones(2, requires_grad=True)
torch.autograd.backward((x.sin(), x.cos()), (torch.ones(2), torch.ones(2)))
torch.geqrf(torch.ones(5, 3))
torch.atleast_1d()
""",
    # Its backward's kernel calls ``empty`` on threads of OpenMP, too.
    "kernels on threads of OpenMP": """
torch.set_num_threads(2)
query = torch.ones(2, 4, 5, 4, requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(query, query, query).sum().backward()
""",
    # If one matrix is for several systems of a batch, an index selects it.
    "one matrix of several systems of a batch": """
torch.linalg.lstsq(torch.eye(3)[None], torch.ones(2, 3, 3))
torch.unique(torch.tensor([[1, 1], [1, 1], [0, 1]]), dim=0)
for matrices, systems in (((), (2,)), ((1,), (2,)), ((2, 1), (3, 2, 3)), ((2,), ()), ((2,), (2,))):
    factors, pivots = torch.linalg.lu_factor(torch.eye(3).expand(*matrices, 3, 3) + 1)
    torch.linalg.lu_solve(factors, pivots, torch.ones(*systems, 3, 2))
torch.linalg.lu_solve(factors, pivots, torch.ones(4, 2, 2, 3), left=False)
""",
    # Results that several threads write, tensors of several dtypes, and one that is left out.
    "results that several threads write, of several dtypes": """
for threads in (2, 1):
    torch.set_num_threads(threads)
    for rows in (10, 200):
        part, empty = torch.ones(rows, 100), torch.ones(0)
        torch.cat([part, part], 1)
        torch.cat([part, torch.ones(rows, 99)], 1)
        torch.cat([part.long(), part.long()])
        torch.cat([part, part.double()])
        torch.cat([empty, part, part])
        torch.cat([empty.long(), part, part])
""",
    # Copies of modules, of states, of views of one storage, of a leaf with its gradient, on meta, of a result.
    "copies of modules, states, views and leaves": """
import copy, torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1, bias=False))
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(average.parameters(), net.parameters()):
            old.mul_(0.9).add_(new, alpha=0.1)
state, parameters = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(net.state_dict())
whole = torch.arange(6.0).reshape(2, 3)
twins = copy.deepcopy({"row": whole[1], "column": whole[:, 1], "turned": whole.t()})
twins["row"].add_(1)
leaf = torch.ones(2, requires_grad=True)
leaf.grad = torch.ones(2)
own = copy.deepcopy(leaf)
(own * 2).sum().backward()
print(own.grad, twins, copy.deepcopy(torch.empty(2, 3, device="meta").t()).stride())
copy.deepcopy(leaf * 2)
""",
    # A meta function of Python's that calls another one, Nodes that threads give one sequence number, and a leaf that
    # ``set_`` takes its AccumulateGrad, which was at the address of the next one.
    "Nodes with one number or one address": """
import threading, torch
from torch.utils.checkpoint import checkpoint
meta = torch.ones(2, 2, device="meta", requires_grad=True)
(meta @ meta).sum().backward()
leaf = torch.ones(2, requires_grad=True)
def run():
    checkpoint(torch.sin, leaf, use_reentrant=True).sum().backward()
for _ in range(2):
    thread = threading.Thread(target=run)
    thread.start(), thread.join()
run()
leaf * 2
with torch.no_grad():
    leaf.set_(torch.ones(2))
leaf * 2
""",
    # A line that goes on behind the lines of a custom Function.
    "a line that goes on behind a custom Function's": """
from torch.utils.checkpoint import checkpoint
x = torch.ones(2, requires_grad=True)
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.sin() + 1
    @staticmethod
    def backward(ctx, g): return g * 2
    @staticmethod
    def jvp(ctx, t): return t * 3
def f(x): return x.sin() * 2
def nested(x): return checkpoint(f, x, use_reentrant=True) + Own.apply(x)
(x.cos() + checkpoint(nested, x, use_reentrant=True) + nested(x)).sum().backward()
def spread(x): return checkpoint(
    lambda y: f(y) +
        y.cos(),
    x, use_reentrant=True,
) + Own.apply(x)
parts = [checkpoint(spread, x * k, use_reentrant=True) + 1 for k in range(2)]
sum(checkpoint(lambda y: y.sin() + k, x, use_reentrant=True).sum() for k in range(2)).backward()
with torch.autograd.forward_ad.dual_level():
    Own.apply(torch.autograd.forward_ad.make_dual(x, x.detach())) + Own.apply(x)
""",
    # Composites that hand back what a custom Function has returned: its Node is not theirs. Hooks without calls.
    "composites that hand back a custom Function's result": """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        return x * weight
    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None
x = torch.ones(2, requires_grad=True)
print(Twice.apply(x, 2).tolist())
Twice.apply(x, 2).contiguous().sum().backward()
y = Twice.apply(x, 2).contiguous().reshape(2)
y.sum().backward()
Twice.apply(x, 2).to(torch.float32).resolve_conj().view(2, 1).sum().backward()
z = x * 2
z.register_hook(lambda grad: print(grad.is_conj()))
x.register_hook(lambda grad: print(grad.is_conj()))
(z * z).sum().backward()
x.register_hook(lambda grad: grad * 2); (x * 3).sum().backward(); (x * 4).sum().backward()
""",
    # A Node in place of an input that is not reached, edges that the engine refuses, numbers that hooks might have
    # packed, the new Node of a stale view, AccumulateGrads at one address.
    "inputs that are not reached or refused": """
x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
torch.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)
edges = torch.autograd.graph.GradientEdge(3, 0), torch.autograd.graph.GradientEdge(None, 0)
for wrong in ([x, y], *edges, torch.ones(2), [3]):
    try:
        torch.autograd.grad((x * 2).sum(), wrong)
    except Exception as error:
        print(type(error).__name__, error)
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
    x * 1 / 3 * x
view = y.view(2, 1)
with torch.no_grad():
    y.mul_(2)
view.sum().backward()
whole = x.clone()
part, other = whole[:1], whole.view(2, 1)
part.mul_(3)
other.sum().backward()
for again in range(5):
    leaf = torch.ones(2, requires_grad=True)
    leaf * 2
    with torch.no_grad():
        leaf.set_(torch.ones(2))
""",
    # The first tensor on meta is made where BackendSelect's kernel is called again.
    "the first tensor on meta": """
torch.func.jvp(lambda x: x * torch.tensor([2.0, 3.0]), (torch.ones(2),), (torch.ones(2),))
""",
}


@pytest.mark.torch
@pytest.mark.parametrize("what", SEEN_ALIKE)
def test_these_facts_are_seen_alike(what: str) -> None:
    found = two_runs(Code("import torch\n" + SEEN_ALIKE[what]), ())
    assert found.same, said(found)


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.parametrize("name", in_turn([name for name in shipped() if name not in FOR_CUDA], 12))
def test_pytorch_does_what_the_model_does(name: str) -> None:
    try:
        found = two_runs(str(folder() / f"{name}.py"), ())
    except DispatchvizError as error:
        pytest.skip(str(error))
    assert found.same, said(found)


@pytest.mark.torch
def test_the_command_says_so_and_keeps_it_in_the_header(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "dispatchviz", "check", "--save", str(tmp_path / "a.dvtrace"), "-c", PROGRAM]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "did the same as the model" in ended.stdout
    assert "tensor([[2., 2., 2.]" in ended.stderr
    assert str(Trace.load(tmp_path / "a.dvtrace").header.checked).endswith(": no difference")


def test_json_has_the_sentences_and_the_steps_of_the_stepper() -> None:
    ours, theirs = traced(PROGRAM), traced(WITHOUT_BACKWARD)
    value = check_json(checked_traces(ours, theirs), ("in the model", "in PyTorch"))
    (first, *_) = value["differences"]
    assert value["same"] is False
    assert first["text"][0].startswith("Only in the model")
    assert first["step"]["pytorch"] is None
    assert ours[first["step"]["model"]].seq > max(theirs.steps_of(ev.KernelReturned))
    assert value["compared"]["calls"] == len(seen_by_both(theirs).steps_of(ev.Dispatched))
    assert check_json(checked_traces(ours, ours), ("", ""))["differences"] == []


def recorded_on(release: str, program: str) -> Trace:
    """Return a run on the model that claims to be recorded on an installed PyTorch."""
    trace = traced(program)
    return Trace(msgspec.structs.replace(trace.header, pytorch=release, engine="torch"), tuple(trace))


TWO_RELEASES = "Two releases are compared: the model is PyTorch 2.14, and the installed one is PyTorch 2.13.0."


def test_two_releases_are_named_first_and_may_be_the_cause() -> None:
    found = checked_traces(traced(PROGRAM), recorded_on("2.13.0+cpu", PROGRAM))
    assert said(found).startswith(TWO_RELEASES)
    assert "may be the cause" not in said(found)
    differs = checked_traces(traced(PROGRAM), recorded_on("2.13.0+cpu", WITHOUT_BACKWARD))
    assert said(differs).startswith(TWO_RELEASES)
    assert "The release may be the cause" in said(differs)
    assert check_json(differs, ("", ""))["releases"] == {"model": "2.14", "pytorch": "2.13.0"}
    explained = replace(differs, release_changes=("PyTorch 2.13.0 has aten::new, and PyTorch 2.14 does not",))
    assert "The releases differ here: PyTorch 2.13.0 has aten::new" in " ".join(said(explained).split())
    assert "may be the cause" not in said(explained)


def test_one_release_is_no_cause() -> None:
    text = said(checked_traces(traced(PROGRAM), recorded_on("2.14.1+cpu", WITHOUT_BACKWARD)))
    assert "release" not in text


def test_difference_has_the_operators_and_keys_of_the_calls_around_it() -> None:
    view = "import torch\nx = torch.ones(4, 4)\nz = x.as_strided((2, 2), {})\nx + 1\n"
    found = checked_traces(traced(view.format("(4, 1)")), traced(view.format("(1, 4)")))
    assert operators_that_differ(found) == {"aten::as_strided"}
    assert keys_called(found) >= {"AutogradCPU", "ADInplaceOrView", "CPU"}
    assert "CUDA" not in keys_called(found)


def test_different_output_is_not_explained_by_rounding() -> None:
    found = checked_traces(traced("print(1.00001)\nprint('a')\n"), traced("print(1.0)\nprint('b')\n"))
    assert found.printed == ("a", "b")
    assert "The output first differs: a in the model, b in PyTorch" in said(found)


def test_two_steps_with_equal_labels_name_their_difference() -> None:
    view = "import torch\nx = torch.ones(4, 4)\nz = x.as_strided((2, 2), {})\n"
    found = checked_traces(traced(view.format("(4, 1)")), traced(view.format("(1, 4)")))
    assert "the same step except for its stride: (4, 1) in the model, (1, 4) in PyTorch" in " ".join(
        said(found).split()
    )


def test_a_saved_trace_is_no_script(tmp_path: Path) -> None:
    traced(PROGRAM).save(tmp_path / "a.dvtrace")
    with pytest.raises(DispatchvizError, match="is a saved trace"):
        checked(str(tmp_path / "a.dvtrace"), (), "auto", None, False, True)


def test_examples_are_those_that_ship() -> None:
    assert set(shipped()) >= FOR_CUDA
    assert {example.name for example in examples()} <= set(shipped())


def test_the_stepper_opens_the_whole_run_at_the_step_that_is_compared() -> None:
    whole = traced(PROGRAM)
    seen = seen_by_both(whole)
    side = Side("the model", Run(seen, "in the model"), whole=whole, steps=seen.steps)
    for step, event in enumerate(seen):
        trace, there = side.opened_at(step)
        assert trace is whole
        if isinstance(event, ev.SourceLine):
            found = whole[there]
            assert isinstance(found, ev.SourceLine)
            assert (found.file, found.line) == (event.file, event.line)


@pytest.mark.torch
def test_pytorch_runs_on_one_thread_as_the_model_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of ``conv_transpose2d`` divides the calls for its batch among several threads, if there are any."""
    monkeypatch.delenv("OMP_NUM_THREADS")
    found = two_runs(Code(ON_ONE_THREAD), ())
    assert found.same, said(found)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert not two_runs(Code(ON_ONE_THREAD), ()).same


ON_ONE_THREAD = """
import torch
print(torch.get_num_threads())
image = torch.ones(6, 3, 12, 12, dtype=torch.float64, requires_grad=True)
weight = torch.ones(3, 4, 3, 3, dtype=torch.float64)
torch.nn.functional.conv_transpose2d(image, weight).sum().backward()
"""
