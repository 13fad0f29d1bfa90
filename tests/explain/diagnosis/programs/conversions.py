"""Arrays and copies of tensors that require grad, and pickles of them for other processes."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

LEAF = "import torch\nw = torch.ones(3, requires_grad=True)\n"
NUMPY = "import torch\nimport numpy as np\nfrom torch import nn\nnet = nn.Linear(2, 1)\nout = net(torch.ones(3, 2))\n"
COPY = "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\n"

ARRAYS = [
    Case(
        "a result",
        LEAF + "y = w * 2\nprint(y.numpy())",
        "numpy of a tensor that requires grad",
        (
            "y requires grad, because it was computed from the leaf w (line 2)",
            "its grad_fn is MulBackward0, made on line 3 (y = w * 2)",
        ),
        "y.detach().numpy()",
        LEAF + "y = w * 2\nprint(y.detach().numpy())",
    ),
    Case(
        "np.asarray of an output",
        NUMPY + "print(np.asarray(out).mean())",
        "numpy of a tensor that requires grad",
        ("out requires grad, because it was computed from the leaves net.weight (line 4) and net.bias (line 4)",),
        "out.detach().numpy()",
        NUMPY + "print(np.asarray(out.detach().numpy()).mean())",
    ),
    Case(
        "a leaf",
        LEAF + "values = [float(v) for v in w.numpy()]",
        "numpy of a tensor that requires grad",
        ("w (line 2) is a leaf that requires grad",),
        "w.detach().numpy()",
        LEAF + "values = [float(v) for v in w.detach().numpy()]",
    ),
    Case(
        "an expression",
        LEAF + "h = torch.relu(w - 2)\nprint((h + 1).numpy())",
        "numpy of a tensor that requires grad",
        ("h + 1 requires grad, because it was computed from the leaf w (line 2): its grad_fn is AddBackward0",),
        "(h + 1).detach().numpy()",
        LEAF + "h = torch.relu(w - 2)\nprint((h + 1).detach().numpy())",
    ),
]

MODEL = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
    def forward(self, x):
        return self.l(x)
net = Net()
"""

ARRAYS += [
    Case(
        "an output that has no variable",
        MODEL + "print(net(torch.ones(3, 2)).numpy())",
        "numpy of a tensor that requires grad",
        ("net(torch.ones(3, 2)) requires grad", "AddmmBackward0, made on line 8", "line 10"),
        "net(torch.ones(3, 2)).detach().numpy()",
        MODEL + "print(net(torch.ones(3, 2)).detach().numpy())",
    ),
    Case(
        "two arrays on a line",
        LEAF + "y = w * 2\nprint(w.detach().numpy(), y.numpy())",
        "numpy of a tensor that requires grad",
        ("y requires grad, because it was computed from the leaf w (line 2)",),
        "y.detach().numpy()",
        LEAF + "y = w * 2\nprint(w.detach().numpy(), y.detach().numpy())",
    ),
    Case(
        "a parameter of a function",
        LEAF + "def f(t):\n    return t.numpy()\nf(w * 3)",
        "numpy of a tensor that requires grad",
        ("t requires grad, because it was computed from the leaf w (line 2)", "MulBackward0, made on line 5"),
        "t.detach().numpy()",
        LEAF + "def f(t):\n    return t.detach().numpy()\nf(w * 3)",
    ),
    Case(
        "a list",
        LEAF + "import numpy as np\nlosses = [(w * i).sum() for i in range(3)]\nprint(np.array(losses))",
        "numpy of a tensor that requires grad",
        ("losses[0] requires grad", "SumBackward0"),
        "losses[0].detach().numpy()",
        LEAF
        + "import numpy as np\nlosses = [(w * i).sum().detach().numpy() for i in range(3)]\nprint(np.array(losses))",
    ),
]

MODULE = """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        self.last = self.lin(x)
        return self.last.sum()

net = Net()
net(torch.ones(1, 2))
best = copy.deepcopy(net)
"""

COPIES = [
    Case(
        "a copy of a result",
        COPY + "y = w * 2\nz = copy.deepcopy(y)",
        "deepcopy of a non-leaf",
        ("y requires grad, because it was computed from the leaf w (line 3)", "Line 5 (z = copy.deepcopy(y))"),
        "y.detach().clone()",
        COPY + "y = w * 2\nz = y.detach().clone()",
    ),
    Case(
        "a dict that holds one",
        COPY + 'state = {"w": w, "norm": (w * w).sum()}\nsaved = copy.deepcopy(state)',
        "deepcopy of what holds a non-leaf",
        ("state holds state['norm']", "its grad_fn is SumBackward0, made on line 4"),
        "state['norm'] = state['norm'].detach()",
        COPY + 'state = {"w": w, "norm": (w * w).sum().detach()}\nsaved = copy.deepcopy(state)',
    ),
    Case(
        "a module that keeps one",
        MODULE,
        "deepcopy of what holds a non-leaf without a name",
        ("net holds a tensor that has a grad_fn", "Line 16 (best = copy.deepcopy(net))"),
        "without its history in net",
        MODULE.replace("self.last.sum()", "self.lin(x).sum()").replace("self.lin(x)\n", "self.lin(x).detach()\n"),
    ),
]

MORE = [
    Case(
        "a copy of an expression",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\nbest = copy.deepcopy(w.exp())",
        "deepcopy of a non-leaf",
        ("w.exp() requires grad, because it was computed from the leaf w (line 3)",),
        "w.exp().detach().clone()",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\nbest = w.exp().detach().clone()",
    ),
    Case(
        "a copy of a converted leaf",
        "import copy\nimport torch\nx = torch.ones(2, requires_grad=True).double()\nbackup = copy.deepcopy(x)",
        "deepcopy of a non-leaf",
        ("x requires grad, because it was computed from a leaf, the result of ones on line 3",),
        "x.detach().clone()",
        "import copy\nimport torch\nx = torch.ones(2, requires_grad=True).double()\nbackup = x.detach().clone()",
    ),
    Case(
        "a copy in a function",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\ndef keep(t):\n"
        "    return copy.deepcopy(t)\nh = torch.tanh(w)\nkept = keep(h)",
        "deepcopy of a non-leaf",
        (
            "t requires grad",
            "Line 5 (return copy.deepcopy(t)) can copy only leaves",
        ),
        "t.detach().clone()",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\ndef keep(t):\n"
        "    return t.detach().clone()\nh = torch.tanh(w)\nkept = keep(h)",
    ),
    Case(
        "a list of losses",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\nlosses = []\nfor step in range(2):\n"
        "    losses.append((w * step).sum())\nkept = copy.deepcopy(losses)",
        "deepcopy of what holds a non-leaf",
        (
            "losses holds losses[0]",
            "its grad_fn is SumBackward0 (n2), made on line 6",
        ),
        "losses[0] = losses[0].detach()",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\nlosses = []\nfor step in range(2):\n"
        "    losses.append((w * step).sum().detach())\nkept = copy.deepcopy(losses)",
    ),
    Case(
        "a list beside a leaf",
        COPY + "first = [(w * 2).sum(), w]\nkept = copy.deepcopy(first)",
        "deepcopy of what holds a non-leaf",
        ("first holds first[0]",),
        "first[0] = first[0].detach()",
        COPY + "first = [(w * 2).sum().detach(), w]\nkept = copy.deepcopy(first)",
    ),
    Case(
        "a module that keeps a list",
        """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.seen = []

    def forward(self, x):
        self.seen.append(self.lin(x))
        return self.seen[-1].sum()

net = Net()
net(torch.ones(1, 2))
twin = copy.deepcopy(net)
""",
        "deepcopy of what holds a non-leaf without a name",
        (
            "net holds a tensor that has a grad_fn",
            "Line 17 (twin = copy.deepcopy(net))",
        ),
        "without its history in net",
        """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.seen = []

    def forward(self, x):
        self.seen.append(self.lin(x).detach())
        return self.seen[-1].sum()

net = Net()
net(torch.ones(1, 2))
twin = copy.deepcopy(net)
""",
    ),
    Case(
        "a dict in a dict",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\n"
        "best = {'epoch': 1, 'metrics': {'loss': (w * 2).sum()}}\nkept = copy.deepcopy(best)",
        "deepcopy of what holds a non-leaf without a name",
        ("best holds a tensor that has a grad_fn",),
        "without its history in best",
        "import copy\nimport torch\nw = torch.ones(3, requires_grad=True)\n"
        "best = {'epoch': 1, 'metrics': {'loss': (w * 2).sum().detach()}}\nkept = copy.deepcopy(best)",
    ),
]

CASES = [*ARRAYS, *COPIES, *MORE]

PICKLER = "import torch.multiprocessing\nfrom multiprocessing.reduction import ForkingPickler\n"

ON_PYTORCH = [
    Case(
        "a result for a process",
        LEAF + PICKLER + "y = w * 2\nForkingPickler.dumps(y)",
        "a non-leaf sent to a process",
        ("y requires grad, because it was computed from the leaf w (line 2)", "Line 6 (ForkingPickler.dumps(y))"),
        "y.detach()",
    ),
    Case(
        "an expression for a process",
        LEAF + PICKLER + "ForkingPickler.dumps(w.exp())",
        "a non-leaf sent to a process",
        ("w.exp() requires grad", "ExpBackward0"),
        "w.exp().detach()",
    ),
    Case(
        "an output of a module",
        NUMPY + PICKLER + "ForkingPickler.dumps(out)",
        "a non-leaf sent to a process",
        ("out requires grad, because it was computed from the leaves net.weight (line 4) and net.bias (line 4)",),
        "out.detach()",
    ),
]
"""Programs for an installed PyTorch only, because the model has no torch.multiprocessing. The fixed program is not run,
because it would start a process that shares memory.
"""

SOUND = {
    "a result that is saved": LEAF + "import io\ny = w * 2\ntorch.save(y, io.BytesIO())",
}
"""Sound programs. Pickling is an error only for another process."""
