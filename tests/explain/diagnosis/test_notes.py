"""Tests of notes on sound programs. Each program asserts the fact itself, so both engines check the note's claim."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.note_rules import MOST, NOTE_RULES, notes
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.running.recording import EngineName
from tests.explain.diagnosis.cases import traced


class Noted(NamedTuple):
    """A program and the expected parts of its note."""

    name: str
    kind: str
    source: str
    says: tuple[str, ...]


TIES, NEXT, HOOKS, SUMS, CASTS = (
    "ties of a reduction",
    "what next_functions holds",
    "order of hooks",
    "gradient summed after broadcasting",
    "casts of autocast",
)
FROZEN, AGAIN, EVAL, PARTS, COPIES = (
    "frozen parameters",
    "forward that runs again",
    "eval without no_grad",
    "write to a part of a tensor",
    "copy or view",
)

NET = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
"""

CASES = [
    Noted(
        "both ways",
        TIES,
        """
        import torch
        x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
        x.max().backward()
        assert x.grad.tolist() == [0.0, 0.5, 0.5]
        x.grad = None
        x.max(dim=0).values.backward()
        assert sorted(x.grad.tolist()) == [0.0, 0.0, 1.0]
        """,
        (
            "2 elements of x are the largest. max on line 3 (MaxBackward1) divides the gradient evenly among them",
            "max(dim) on line 6 (MaxBackward0) gives it to the one element whose index it returned",
        ),
    ),
    Noted(
        "the smallest of a matrix",
        TIES,
        """
        import torch
        m = torch.zeros(2, 2, requires_grad=True)
        m.min().backward()
        assert m.grad.tolist() == [[0.25, 0.25], [0.25, 0.25]]
        m.grad = None
        m.amin((0, 1)).backward()
        assert m.grad.tolist() == [[0.25, 0.25], [0.25, 0.25]]
        m.grad = None
        m.min(1).values.sum().backward()
        assert m.grad.sum() == 2 and m.grad.count_nonzero() == 2
        """,
        ("4 elements of m are the smallest. min on line 3 (MinBackward1) and amin on line 6 (AminBackward0) divide",),
    ),
    Noted(
        "amax and an index",
        TIES,
        """
        import torch
        s = torch.tensor([2.0, 2.0], requires_grad=True)
        (torch.amax(s, 0) + torch.max(s, 0)[0]).backward()
        assert sorted(s.grad.tolist()) == [0.5, 1.5]
        """,
        ("2 elements of s are the largest. amax on line 3 (AmaxBackward0) divides the gradient",),
    ),
    Noted(
        "a linear layer",
        NEXT,
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 3)
        y = net(torch.randn(2, 4))
        assert [each[0] and each[0].name() for each in y.grad_fn.next_functions] == [
            "torch::autograd::AccumulateGrad", None, "TBackward0"]
        """,
        (
            "y.grad_fn on line 5 is AddmmBackward0",
            (
                "[0] is AccumulateGrad (net.bias); [1] is None, because its input the result of randn on line 4 "
                "does not require grad; [2] is TBackward0, for its input net.weight.T."
            ),
        ),
    ),
    Noted(
        "a number",
        NEXT,
        "import torch\nx = torch.ones(2, requires_grad=True)\nz = (x * x).exp()\n"
        "first, second = z.grad_fn.next_functions[0][0].next_functions\n"
        'assert z.grad_fn.next_functions[0][0].name() == "MulBackward0" and first[0] is second[0]',
        ("z.grad_fn on line 4 is ExpBackward0", "[0] is MulBackward0, for its input the result of mul on line 3"),
    ),
    Noted(
        "a list of tensors",
        NEXT,
        "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2)\nc = torch.cat([a, b])\n"
        "assert c.grad_fn.next_functions[1] == (None, 0)",
        (
            "c.grad_fn on line 5 is CatBackward0",
            "[0] is AccumulateGrad (a); [1] is None, because its input b does not require",
        ),
    ),
    Noted(
        "of modules",
        HOOKS,
        NET.strip()
        + """
for n, m in net.named_modules():
    m.register_full_backward_hook(lambda m, gi, go, n=n: print("hook", n or "net"))
net(torch.randn(3, 2, requires_grad=True)).sum().backward()
""",
        (
            (
                '4 hooks ran on line 6, in this order, by what they print: "hook 2", then "hook 1", then "hook 0", '
                'then "hook net".'
            ),
            "runs when the gradient of its input has been computed, or that of its output if no input requires grad",
        ),
    ),
    Noted(
        "of modules whose input requires no grad",
        HOOKS,
        NET.strip()
        + """
import warnings
warnings.simplefilter("ignore")
order = []
for n, m in net.named_modules():
    m.register_full_backward_hook(lambda m, gi, go, n=n: order.append(n) or print("at", n or "net"))
net(torch.randn(3, 2)).sum().backward()
assert order == ["", "2", "1", "0"]
""",
        ('"at net", then "at 2", then "at 1", then "at 0"', "or that of its output if no input requires grad"),
    ),
    Noted(
        "of tensors and a Node",
        HOOKS,
        """
        import torch
        order = []
        def twice(g):
            order.append("twice")
            return g * 2
        x = torch.ones(2, requires_grad=True)
        y = x * 3
        y.register_hook(twice)
        y.register_hook(lambda g: order.append("seen"))
        y.grad_fn.register_hook(lambda gi, go: order.append("after"))
        y.sum().backward()
        assert order == ["twice", "seen", "after"]
        """,
        (
            (
                "3 hooks ran on line 11, in this order: twice of line 4 (before MulBackward0), then <lambda> of line 9 "
                "(before MulBackward0), then <lambda> of line 10 (after MulBackward0)."
            ),
            "A tensor's hooks run before its Node, in the order of registration. A Node's post hooks run after it.",
        ),
    ),
    Noted(
        "a column and a row",
        SUMS,
        """
        import torch
        a = torch.randn(3, 1, requires_grad=True)
        b = torch.randn(4, requires_grad=True)
        (a + b).sum().backward()
        assert a.grad.tolist() == [[4.0], [4.0], [4.0]] and b.grad.tolist() == [3.0] * 4
        """,
        (
            (
                "add on line 4 ((a + b).sum().backward()) broadcasts a [3, 1] and b [4] to [3, 4]. So the engine sums "
                "the gradients that AddBackward0 returns: that of a over dimension 1 and that of b over dimension 0."
            ),
        ),
    ),
    Noted(
        "a scalar",
        SUMS,
        """
        import torch
        s = torch.tensor(2.0, requires_grad=True)
        x = torch.arange(6.0).reshape(2, 3)
        (s * x).sum().backward()
        assert s.grad == 15
        """,
        ("mul on line 4", "broadcasts s [] to [2, 3]", "that of s over dimensions 0 and 1"),
    ),
    Noted(
        "a loss of two shapes",
        SUMS,
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        x, target = torch.arange(3.0).reshape(3, 1), torch.arange(3.0)
        for _ in range(2):
            guess = x * w
            loss = ((guess - target) ** 2).mean()
            w.grad = None
            loss.backward()
        assert (guess - target).shape == (3, 3)
        """,
        ("sub on line 6", "broadcasts guess [3, 1] to [3, 3]", "that of guess over dimension 1"),
    ),
    Noted(
        "a layer called twice",
        CASTS,
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 4)
        x = torch.randn(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
            z = net(y)
        assert z.dtype == torch.bfloat16 and net.weight.dtype == torch.float32
        """,
        (
            (
                "linear on line 6 casts x, net.weight and net.bias to bfloat16; linear on line 7 takes the casts of "
                "net.weight and net.bias from the cache."
            ),
            "The cache keeps the casts of float32 leaves that require grad until the outermost autocast ends.",
        ),
    ),
    Noted(
        "two dtypes",
        CASTS,
        """
        import torch
        a, b = torch.randn(2, 2), torch.randn(2, 2)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            c = a @ b
            d = torch.cat([c, a])
        assert c.dtype == torch.bfloat16 and d.dtype == torch.float32
        """,
        ("matmul on line 4 casts a and b to bfloat16; cat on line 5 casts c to float32.",),
    ),
    Noted(
        "no cache of what is not a leaf",
        CASTS,
        """
        import torch
        w = torch.randn(2, 2, requires_grad=True)
        v = w * 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.mm(v, v)
            torch.mm(v, w)
            torch.mm(w, w)
        """,
        (
            (
                "mm on line 5 casts v to bfloat16; mm on line 6 casts v and w to bfloat16; mm on line 7 takes the cast "
                "of w from the cache."
            ),
        ),
    ),
    Noted(
        "the first layer",
        FROZEN,
        NET.strip()
        + """
for p in net[0].parameters(): p.requires_grad = False
net(torch.randn(3, 2)).sum().backward()
assert net[0].weight.grad is None and net[2].weight.grad is not None
""",
        (
            (
                "net.0.weight and net.0.bias are frozen (line 4). No input of net.0 (Linear) on line 5 requires "
                "grad, so it records no Node, and the backward pass does not reach it."
            ),
        ),
    ),
    Noted(
        "the last layer",
        FROZEN,
        NET.strip()
        + """
net[2].requires_grad_(False)
net(torch.randn(3, 2)).sum().backward()
assert net[2].bias.grad is None and net[0].weight.grad is not None
""",
        (
            "net.2.weight and net.2.bias are frozen (line 4). AddmmBackward0",
            "of net.2 (Linear) computes no gradient for them, only for its inputs that require grad.",
        ),
    ),
    Noted(
        "one parameter",
        FROZEN,
        """
        import torch
        from torch import nn
        layer = nn.Linear(3, 2)
        layer.bias.requires_grad = False
        x = torch.randn(4, 3)
        with torch.no_grad():
            layer(x)
        layer(x).sum().backward()
        assert layer.bias.grad is None and layer.weight.grad is not None
        """,
        ("layer.bias is frozen (line 4). AddmmBackward0 of layer (Linear) computes no gradient for it, only for its",),
    ),
    Noted(
        "without reentrance",
        AGAIN,
        """
        import torch
        from torch.utils.checkpoint import checkpoint
        runs = []
        def block(x):
            runs.append(1)
            return torch.sin(torch.exp(x))
        x = torch.ones(3, requires_grad=True)
        y = checkpoint(block, x, use_reentrant=False)
        y.sum().backward()
        assert len(runs) == 2
        """,
        (
            (
                "checkpoint on line 8 runs block a second time in the backward pass, from line 5 (runs.append(1)) "
                "on: SinBackward0"
            ),
            "needs a tensor that it saved in the forward pass, and checkpoint has kept only the inputs of block.",
        ),
    ),
    Noted(
        "with reentrance",
        AGAIN,
        """
        import torch
        from torch.utils.checkpoint import checkpoint
        def block(x):
            return x.exp().sin()
        x = torch.ones(3, requires_grad=True)
        checkpoint(block, x, use_reentrant=True).sum().backward()
        """,
        (
            "checkpoint on line 6 runs block a second time in the backward pass, from line 4",
            ": CheckpointFunctionBackward runs it.",
        ),
    ),
    Noted(
        "a module",
        AGAIN,
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        class Block(nn.Module):
            def forward(self, x):
                h = torch.tanh(x)
                return h * h
        block = Block()
        x = torch.ones(3, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        """,
        (
            (
                "checkpoint on line 10 runs Block.forward a second time in the backward pass, from line 6 (h = "
                "torch.tanh(x)) on"
            ),
            "MulBackward0",
        ),
    ),
    Noted(
        "dropout and batch norm",
        EVAL,
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
        x = torch.randn(4, 3)
        net.eval()
        a = net(x)
        with torch.no_grad():
            b = net(x)
        assert a.requires_grad and not b.requires_grad and (a == b).all()
        """,
        (
            (
                "net.eval() on line 5 changes what modules compute (Dropout passes its input on and BatchNorm takes "
                "its running mean and variance), not what autograd records: line 6 (a = net(x)) records three Nodes."
            ),
            "torch.no_grad() on line 7 changes only the recording: no Node is recorded.",
        ),
    ),
    Noted(
        "a layer that does not change",
        EVAL,
        """
        import torch
        from torch import nn
        layer = nn.Linear(3, 3)
        layer.eval()
        y = layer(torch.ones(1, 3))
        assert y.requires_grad
        """,
        ("layer.eval() on line 4 changes what modules compute, not what autograd records: line 5",),
    ),
    Noted(
        "batch norm without running statistics",
        EVAL,
        """
        import torch
        from torch import nn
        norm = nn.BatchNorm1d(2, track_running_stats=False)
        norm.eval()
        y = norm(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
        assert abs(y.mean().item()) < 1e-6
        with torch.inference_mode():
            z = norm(torch.ones(2, 2))
        """,
        (
            "norm.eval() on line 4 changes what modules compute, not what autograd records",
            "records one Node. torch.inference_mode() on line 7 changes only the recording",
        ),
    ),
    Noted(
        "an element",
        PARTS,
        """
        import torch
        x = torch.zeros(3, requires_grad=True)
        y = x * 1
        y[0] = 5.0
        assert y.grad_fn.name() == "torch::autograd::CopySlices"
        y.sum().backward()
        assert x.grad.tolist() == [0.0, 1.0, 1.0]
        """,
        (
            "Line 4 (y[0] = 5.0) writes to a view of y in place",
            (
                "so y.grad_fn becomes CopySlices, whose next Node is MulBackward0. In the backward pass CopySlices "
                "gives a gradient of 0 to the earlier values of y there."
            ),
        ),
    ),
    Noted(
        "a view that is scaled",
        PARTS,
        """
        import torch
        x = torch.ones(2, 2, requires_grad=True)
        y = x.clone()
        row = y[0]
        row.mul_(3)
        y.sum().backward()
        assert x.grad.tolist() == [[3.0, 3.0], [1.0, 1.0]]
        """,
        (
            (
                "Line 5 (row.mul_(3)) writes to a view of y in place (mul_), so y.grad_fn becomes CopySlices, whose "
                "next Node is CloneBackward0."
            ),
        ),
    ),
    Noted(
        "an augmented assignment",
        PARTS,
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        y = torch.zeros(2)
        y[:1] += w
        y.sum().backward()
        assert w.grad.tolist() == [1.0]
        """,
        ("Line 4 (y[:1] += w) writes to a view of y in place (add_), so y.grad_fn becomes CopySlices",),
    ),
    Noted(
        "reshape",
        COPIES,
        """
        import torch
        a = torch.ones(2, 3)
        c = a.reshape(3, 2)
        d = a.t().reshape(6)
        assert c.data_ptr() == a.data_ptr() and d.data_ptr() != a.data_ptr()
        """,
        (
            (
                "reshape on line 3 gives a view of a; reshape on line 4 copies a.T: its sizes [3, 2] and strides [1, "
                "3] allow no view of sizes [6]."
            ),
        ),
    ),
    Noted(
        "flatten",
        COPIES,
        """
        import torch
        m = torch.arange(12.0).reshape(3, 4)
        part = m[:, :2]
        flat = part.flatten()
        whole = torch.flatten(m)
        assert whole.data_ptr() == m.data_ptr() and flat.data_ptr() != m.data_ptr()
        """,
        (
            (
                "flatten on line 4 copies part: its sizes [3, 2] and strides [4, 1] allow no view of sizes [6]; "
                "flatten on line 5 gives a view of m."
            ),
        ),
    ),
    Noted(
        "a tensor that is expanded",
        COPIES,
        """
        import torch
        e = torch.ones(3, 1).expand(3, 4)
        r = e.reshape(12)
        same = e.reshape(3, 4)
        assert r.data_ptr() != e.data_ptr() and same.data_ptr() == e.data_ptr()
        """,
        (
            (
                "reshape on line 3 copies e: its sizes [3, 4] and strides [1, 0] allow no view of sizes "
                "[12]; reshape on line 4 gives a view of e."
            ),
        ),
    ),
]

PLAIN = {
    "a training loop": NET
    + """
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = ((net(torch.ones(4, 2)) - 1) ** 2).mean()
    loss.backward()
    opt.step()
""",
    "a bias in a loop": """
import torch
w, b = torch.ones(2, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
for i in range(3):
    w.grad = b.grad = None
    ((torch.ones(4, 2) @ w + b) ** 2).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
""",
    "a largest element": "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nx.max().backward()",
    "evaluation": NET + "net.eval()\nwith torch.no_grad():\n    print(net(torch.ones(1, 2)))",
    "eval for gradients of the input": NET
    + "net.eval()\nx = torch.ones(1, 2, requires_grad=True)\nnet(x).sum().backward()",
    "reshape in a model": NET + "y = net(torch.ones(2, 2)).t().reshape(2)\ny.sum().backward()",
    "reshape under vmap": "import torch\nx = torch.ones(4, 2, 3)\n"
    "print(torch.func.vmap(lambda t: t.t().reshape(6))(x).shape)",
    "one hook": "import torch\nx = torch.ones(2, requires_grad=True)\nx.register_hook(print)\nx.sum().backward()",
    "all frozen": NET + "net.requires_grad_(False)\nx = torch.ones(1, 2, requires_grad=True)\nnet(x).sum().backward()",
    "a write outside of the graph": "import torch\ny = torch.zeros(3)\ny[0] = 1\nprint(y.reshape(3))",
    "a graph that is walked": "import torch\ny = torch.ones(2, requires_grad=True) * 2\nnode = y.grad_fn\n"
    "while node is not None:\n    node = node.next_functions[0][0] if node.next_functions else None",
    "ties in other rows": "import torch\nm = torch.tensor([[3.0, 1.0], [3.0, 2.0]], requires_grad=True)\n"
    "m.amax(1).sum().backward()\nm.grad = None\nm.max(1).values.sum().backward()",
    "a checkpoint on the disk": "import torch\nfrom torch.utils.data import TensorDataset\ndef save_checkpoint(x):\n"
    "    return x * 2\nx = torch.ones(2, requires_grad=True)\nx.register_hook(lambda g: save_checkpoint(g))\n"
    "save_checkpoint(x).sum().backward()",
    "eval of something else": "import torch\nclass Frame:\n    def eval(self):\n        return 1\nf = Frame()\n"
    "f.eval()\ny = torch.ones(2, requires_grad=True) * 2",
    "eval, then other work": NET + "net.eval()\nwith torch.no_grad():\n    net(torch.ones(1, 2))\n"
    "y = torch.ones(2, requires_grad=True) * 2",
    "the gradient of one argument": "import torch\na = torch.ones(3, 1, requires_grad=True)\nb = torch.ones(4, "
    "requires_grad=True)\nprint(torch.autograd.grad((a + b).sum(), [a])[0].shape)",
    "checkpoint without a backward pass": "import torch\nfrom torch.utils.checkpoint import checkpoint\n"
    "x = torch.ones(2, requires_grad=True)\nprint(checkpoint(torch.sin, x, use_reentrant=False))",
}
"""Similar programs without a note."""


def noted(source: str, engine: EngineName) -> tuple[Trace, tuple[Note, ...]]:
    """Return the notes on a program that has no mistake."""
    trace = traced(source, engine, most=0)
    assert not isinstance(trace[-1], ev.ProgramRaised), trace[-1]
    assert diagnoses(trace) == ()
    return trace, notes(trace)


def check_note(case: Noted, engine: EngineName) -> Trace:
    """Assert that the first note of the kind has the expected parts, and refers to a step of the trace. Return the
    trace.
    """
    trace, found = noted(case.source, engine)
    own = [each for each in found if each.statement.kind == case.kind]
    assert own
    for part in case.says:
        assert part in own[0].statement.text
    assert all(0 < each.at < len(trace) for each in found)
    assert len(found) <= MOST
    return trace


@pytest.mark.parametrize("case", CASES, ids=[f"{case.kind}-{case.name}" for case in CASES])
def test_program_gets_its_note_on_the_model(case: Noted) -> None:
    check_note(case, "model")


@pytest.mark.parametrize("name", PLAIN)
def test_similar_program_gets_no_note(name: str) -> None:
    assert noted(PLAIN[name], "model")[1] == ()


@pytest.mark.torch
@pytest.mark.parametrize("name", PLAIN)
def test_similar_program_gets_no_note_on_an_installed_pytorch(name: str) -> None:
    assert noted(PLAIN[name], "torch")[1] == ()


def test_each_kind_has_three_programs() -> None:
    kinds = [case.kind for case in CASES]
    assert len(set(kinds)) == len(NOTE_RULES)
    assert min(map(kinds.count, kinds)) == 3


def test_program_gets_at_most_four_notes() -> None:
    source = textwrap.dedent(CASES[0].source) + "".join(
        f"\na{n} = torch.ones(2, requires_grad=True)\nb{n} = a{n} * 1\nprint(b{n}.grad_fn.next_functions)"
        for n in range(6)
    )
    assert len(noted(source, "model")[1]) <= MOST


def test_repetition_in_a_loop_gets_one_note() -> None:
    source = "import torch\nfor i in range(5):\n    x = torch.ones(2, requires_grad=True)\n    x.max().backward()\n"
    assert [each.statement.kind for each in noted(source, "model")[1]] == [TIES]
