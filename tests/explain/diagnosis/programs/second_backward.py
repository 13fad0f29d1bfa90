"""Programs with a second backward pass through one graph: the Node, the pass that released it, the variable that
carried it over.
"""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nw = torch.ones(3, requires_grad=True)\n"

RNN = """
import torch
w = torch.ones(3, requires_grad=True)
h = torch.zeros(3)
for step in range(3):
    h = torch.tanh(w * h + 1)
    loss = h.sum()
    loss.backward()
    w.grad = None
"""

LSTM = """
import torch
from torch import nn
cell = nn.LSTMCell(2, 3)
h, c = torch.zeros(1, 3), torch.zeros(1, 3)
for epoch in range(2):
    for x in (torch.ones(1, 2), torch.zeros(1, 2)):
        h, c = cell(x, (h, c))
        loss = h.sum()
        loss.backward()
        cell.zero_grad()
"""

MODEL = """
import torch

class Model:
    def __init__(self):
        self.w = torch.ones(3, requires_grad=True)
        self.h = torch.zeros(3)

    def step(self, x):
        self.h = torch.tanh(self.w * self.h + x)
        return self.h.sum()

model = Model()
for x in (1.0, 2.0, 3.0):
    loss = model.step(x)
    loss.backward()
    model.w.grad = None
"""

TOTAL = """
import torch
w = torch.ones(3, requires_grad=True)
total = torch.zeros(())
for x in (1.0, 2.0, 3.0):
    total = total + (w * w * x).sum()
    total.backward()
    w.grad = None
"""

MODULE = """
import torch
from torch import nn

class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 3)
        self.hidden = torch.zeros(1, 3)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.hidden.sum()

def train(net, data):
    for x in data:
        loss = net(x)
        loss.backward()
        net.zero_grad()

train(RNN(), [torch.ones(1, 2), torch.zeros(1, 2)])
"""

ADDED = """
import torch
from torch import nn
net = nn.Linear(2, 1)
losses = 0
for x in (torch.ones(1, 2), torch.zeros(1, 2)):
    losses += net(x).sum()
    losses.backward()
    net.zero_grad()
"""

LAYER = """
import torch
from torch import nn
lstm = nn.LSTM(2, 3, batch_first=True)
state = None
for batch in (torch.ones(1, 4, 2), torch.zeros(1, 4, 2)):
    out, state = lstm(batch, state)
    out.sum().backward()
    lstm.zero_grad()
"""

LIST = """
import torch
w = torch.ones(3, requires_grad=True)
outs, h = [], torch.zeros(3)
while len(outs) < 2:
    h = torch.tanh(w * h.detach())
    outs.append(h)
    sum(outs).sum().backward()
    w.grad = None
"""

REPORT = """
import torch
w = torch.ones(3, requires_grad=True)
y = (w * w).sum()
def report():
    y.backward()
report()
report()
"""

CASES = [
    Case(
        "an attribute of a module",
        MODULE,
        "second backward: carried over",
        ("self.hidden carries its result from iteration 1 into iteration 2: line 11",),
        "before line 11 uses self.hidden again: self.hidden = self.hidden.detach()",
        MODULE.replace(
            "        self.hidden = self.cell",
            "        self.hidden = self.hidden.detach()\n        self.hidden = self.cell",
        ),
    ),
    Case(
        "a sum in place",
        ADDED,
        "second backward: carried over",
        ("AddmmBackward0", "losses carries its result from iteration 1 into iteration 2"),
        "after line 7 (losses.backward()), before line 6 uses losses again: losses = losses.detach()",
        ADDED + "    losses = losses.detach()\n",
    ),
    Case(
        "the state of a layer",
        LAYER,
        "second backward: carried over",
        (
            "made on line 6 (out, state = lstm(batch, state)) in iteration 1",
            "from iteration 1 into iteration 2: line 6",
        ),
        "after line 7 (out.sum().backward()), before line 6 uses state[",
        LAYER + "    state = tuple(each.detach() for each in state)\n",
    ),
    Case(
        "a list of results",
        LIST,
        "second backward: computed once",
        (
            "outs[0] was computed in iteration 1, on line 5",
            "line 7 (sum(outs).sum().backward()) in iteration 2 uses it",
        ),
        "outs[0].detach() on line 7",
        LIST.replace("    sum(outs).sum().backward()\n    w.grad = None", "sum(outs).sum().backward()"),
    ),
    Case(
        "a function that is called twice",
        REPORT,
        "second backward: the same result",
        ("line 5 (y.backward())", "Line 7 (report()) runs the same graph again"),
        "Remove line 7 (report())",
        REPORT.removesuffix("report()\n"),
    ),
    Case(
        "a hidden state in a loop",
        RNN,
        "second backward: carried over",
        (
            "TanhBackward0 (n3), made on line 5 (h = torch.tanh(w * h + 1)) in iteration 1",
            "ran in the backward pass of line 7 (loss.backward()) in iteration 1",
            "h carries its result from iteration 1 into iteration 2",
        ),
        "h = h.detach()",
        RNN.replace("    h = torch.tanh", "    h = h.detach()\n    h = torch.tanh"),
    ),
    Case(
        "two variables in a loop of loops",
        LSTM,
        "second backward: carried over",
        (
            "in iteration 1 of the loop on line 6",
            "line 9 (loss.backward()) in iteration 2 of the loop on line 6",
            "h carries its result",
        ),
        "h, c = h.detach(), c.detach()",
        LSTM.replace("        h, c = cell", "        h, c = h.detach(), c.detach()\n        h, c = cell"),
    ),
    Case(
        "an attribute of an object",
        MODEL,
        "second backward: carried over",
        ("self.h carries its result from iteration 1 into iteration 2", "made on line 9"),
        "self.h = self.h.detach()",
        MODEL.replace("        self.h = torch.tanh", "        self.h = self.h.detach()\n        self.h = torch.tanh"),
    ),
    Case(
        "a running total",
        TOTAL,
        "second backward: carried over",
        ("total carries its result from iteration 1 into iteration 2", "MulBackward0"),
        "total = total.detach()",
        TOTAL.replace("    total = total + ", "    total = total.detach()\n    total = total + "),
    ),
    Case(
        "twice on one loss",
        BEGIN + "loss = (w * w).sum()\nloss.backward()\nloss.backward()",
        "second backward: the same result",
        ("MulBackward0, made on line 3", "line 4 (loss.backward())", "starts at the same result, loss"),
        "Remove line 5 (loss.backward())",
        BEGIN + "loss = (w * w).sum()\nloss.backward()",
    ),
    Case(
        "twice on one loss, in a loop",
        BEGIN + "loss = (w * w).sum()\nfor step in range(3):\n    loss.backward()",
        "second backward: the same result",
        ("line 5 (loss.backward()) in iteration 1", "Line 5 (loss.backward()) in iteration 2 runs the same graph"),
        "Compute loss again before each pass of line 5",
        BEGIN + "for step in range(3):\n    loss = (w * w).sum()\n    loss.backward()\n    w.grad = None",
    ),
    Case(
        "twice with grad",
        BEGIN + "y = w.exp().sum()\ng = torch.autograd.grad(y, w)\ng2 = torch.autograd.grad(y, w)",
        "second backward: the same result",
        ("ExpBackward0, made on line 3", "starts at the same result, y"),
        "Remove line 5",
        BEGIN + "y = w.exp().sum()\ng = torch.autograd.grad(y, w)",
    ),
    Case(
        "two losses of one value",
        BEGIN + "y = w.exp()\na = y.sum()\nb = y.mean()\na.backward()\nb.backward()",
        "second backward: a shared part",
        ("ExpBackward0, made on line 3", "line 6 (a.backward())", "b is computed from y too"),
        "Add the results and call backward once",
        BEGIN + "y = w.exp()\na = y.sum()\nb = y.mean()\n(a + b).backward()",
    ),
    Case(
        "computed before the loop",
        BEGIN + "y = w.exp()\nfor target in (1.0, 2.0):\n    loss = (y - target).sum()\n    loss.backward()",
        "second backward: computed once",
        ("y was computed only once, on line 3 (y = w.exp())", "line 5 (loss = (y - target).sum()) in iteration 2"),
        "Compute y again",
        BEGIN + "for target in (1.0, 2.0):\n    y = w.exp()\n    loss = (y - target).sum()\n    loss.backward()\n"
        "    w.grad = None",
    ),
    Case(
        "reading what was saved",
        BEGIN + "y = w * w\ny.sum().backward()\nprint(y.grad_fn._saved_self)",
        "second backward: saved tensors were read",
        ("MulBackward0, made on line 3", "line 4 (y.sum().backward()) has released it"),
        "before line 4",
        BEGIN + "y = w * w\nprint(y.grad_fn._saved_self)\ny.sum().backward()",
    ),
    Case(
        "a saved result",
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\nloss = y.sum()\nloss.backward()\n"
        "print(y.grad_fn._saved_result)",
        "second backward: saved tensors were read",
        (
            "ExpBackward0, made on line 3",
            "line 5 (loss.backward()) has released it",
        ),
        "before line 5",
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\nloss = y.sum()\n"
        "print(y.grad_fn._saved_result)\nloss.backward()",
    ),
    Case(
        "what grad released",
        "import torch\nw = torch.ones(3, requires_grad=True)\nx = torch.ones(3)\nz = w * x\n"
        "g = torch.autograd.grad(z.sum(), w)\nsaved = z.grad_fn._saved_other\nprint(saved)",
        "second backward: saved tensors were read",
        ("Line 6 (saved = z.grad_fn._saved_other) reads what MulBackward0, made on line 4, had saved",),
        "before line 5",
        "import torch\nw = torch.ones(3, requires_grad=True)\nx = torch.ones(3)\nz = w * x\n"
        "saved = z.grad_fn._saved_other\ng = torch.autograd.grad(z.sum(), w)\nprint(saved)",
    ),
    Case(
        "a function that reads",
        "import torch\nw = torch.ones(3, requires_grad=True)\ndef look(t):\n    return t.grad_fn._saved_self\n"
        "y = w.pow(2)\ny.sum().backward()\nlook(y)",
        "second backward: saved tensors were read",
        ("Line 4 (return t.grad_fn._saved_self) reads what PowBackward0",),
        "before line 6",
        "import torch\nw = torch.ones(3, requires_grad=True)\ndef look(t):\n    return t.grad_fn._saved_self\n"
        "y = w.pow(2)\nlook(y)\ny.sum().backward()",
    ),
    Case(
        "two heads",
        "import torch\nfrom torch import nn\nenc, a, b = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)\n"
        "z = enc(torch.ones(3, 2)).tanh()\nloss1 = a(z).sum()\nloss2 = b(z).sum()\nloss1.backward()\n"
        "loss2.backward()",
        "second backward: a shared part",
        (
            "TanhBackward0, made on line 4",
            "loss2 is computed from z too",
        ),
        "Add the results",
        "import torch\nfrom torch import nn\nenc, a, b = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)\n"
        "z = enc(torch.ones(3, 2)).tanh()\nloss1 = a(z).sum()\nloss2 = b(z).sum()\n(loss1 + loss2).backward()",
    ),
    Case(
        "two calls of grad",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w.sigmoid()\n"
        "p, q = (h * 2).sum(), (h + 1).sum()\ngp = torch.autograd.grad(p, w)\ngq = torch.autograd.grad(q, w)",
        "second backward: a shared part",
        (
            "SigmoidBackward0",
            "q is computed from h too",
        ),
        "Add the results",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w.sigmoid()\n"
        "p, q = (h * 2).sum(), (h + 1).sum()\ngp = torch.autograd.grad(p, w, retain_graph=True)\n"
        "gq = torch.autograd.grad(q, w)",
    ),
    Case(
        "features of a network",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\nhead = nn.Linear(2, 1)\n"
        "features = torch.tanh(net(torch.ones(3, 2)))\nfor epoch in range(2):\n"
        "    loss = head(features).sum()\n    loss.backward()\n    net.zero_grad()\n    head.zero_grad()",
        "second backward: computed once",
        ("features was computed only once, on line 5",),
        "Compute features again",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\nhead = nn.Linear(2, 1)\n"
        "for epoch in range(2):\n    features = torch.tanh(net(torch.ones(3, 2)))\n"
        "    loss = head(features).sum()\n    loss.backward()\n    net.zero_grad()\n    head.zero_grad()",
    ),
]
