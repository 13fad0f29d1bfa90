"""Programs whose backward pass has no Node to start at, with the leaves that do not require grad or the cut in the
history.
"""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nw = torch.ones(3, requires_grad=True)\n"

CASES = [
    Case(
        "two leaves",
        "import torch\nw = torch.randn(3)\nx = torch.ones(3)\nloss = (w * x).sum()\nloss.backward()",
        "no grad_fn: no leaf requires grad",
        ("loss is computed from w (line 2) and x (line 3)", "neither of which requires grad"),
        "w on line 2",
        BEGIN + "x = torch.ones(3)\nloss = (w * x).sum()\nloss.backward()",
    ),
    Case(
        "one leaf, no variable for the loss",
        "import torch\nw = torch.ones(3)\n(w * 2).sum().backward()",
        "no grad_fn: no leaf requires grad",
        ("the result of sum on line 3", "w (line 2), which does not require grad"),
        "w on line 2",
        BEGIN + "(w * 2).sum().backward()",
    ),
    Case(
        "a leaf",
        "import torch\nx = torch.ones(())\nx.backward()",
        "no grad_fn: a leaf",
        ("x (line 2) does not require grad",),
        "Compute x from",
        fixed=("x.backward()", "w = torch.ones((), requires_grad=True)\n(x * w).backward()"),
    ),
    Case(
        "detach",
        BEGIN + "y = w.detach() * 2\ny.sum().backward()",
        "no grad_fn: detached",
        ("the result of sum on line 4 has no grad_fn", "line 3 (y = w.detach() * 2) cut it from w"),
        "Remove detach() on line 3",
        BEGIN + "y = w * 2\ny.sum().backward()",
    ),
    Case(
        "no_grad",
        BEGIN + "with torch.no_grad():\n    y = w * 2\nloss = y.sum()\nloss.backward()",
        "no grad_fn: grad mode off",
        (
            "loss has no grad_fn",
            "line 4 (y = w * 2) ran while grad mode was off (since line 3 (with torch.no_grad():))",
        ),
        "Move line 4 out of torch.no_grad()",
        BEGIN + "y = w * 2\nloss = y.sum()\nloss.backward()",
    ),
    Case(
        "inference_mode as a decorator",
        BEGIN + "@torch.inference_mode()\ndef double(x):\n    return x * 2\nloss = double(w).sum()\nloss.backward()",
        "no grad_fn: grad mode off",
        ("loss has no grad_fn", "line 5 (return x * 2) ran while grad mode was off"),
        "Move line 5 out of torch.inference_mode()",
        BEGIN + "def double(x):\n    return x * 2\nloss = double(w).sum()\nloss.backward()",
    ),
    Case(
        "argmax",
        BEGIN + "y = w.argmax().float()\ny.backward()",
        "no grad_fn: not differentiable",
        ("y has no grad_fn", "argmax on line 3 (y = w.argmax().float()) is not differentiable"),
        "the input of argmax",
        BEGIN + "y = w.max()\ny.backward()",
    ),
    Case(
        "a frozen layer",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nnet.requires_grad_(False)\n"
        "loss = net(torch.ones(3, 2)).mean()\nloss.backward()",
        "no grad_fn: no leaf requires grad",
        ("net.weight (line 3) and net.bias (line 3), none of which requires grad",),
        "net.weight.requires_grad_()",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nloss = net(torch.ones(3, 2)).mean()\n"
        "loss.backward()",
    ),
    Case(
        "a number of a loss",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\n"
        "total = torch.tensor(loss.item())\ntotal.backward()",
        "no grad_fn: a leaf",
        ("total (line 4) does not require grad",),
        "Compute total from",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()",
    ),
    Case(
        "a sum without a term",
        "import torch\ntotal = torch.zeros(())\nfor i in range(0):\n    total = total + i\ntotal.backward()",
        "no grad_fn: a leaf",
        ("total (line 2) does not require grad",),
        "Compute total from",
        "import torch\nw = torch.ones((), requires_grad=True)\ntotal = torch.zeros(())\nfor i in range(2):\n"
        "    total = total + i * w\ntotal.backward()",
    ),
    Case(
        "a switch",
        "import torch\nw = torch.ones(3, requires_grad=True)\ntorch.set_grad_enabled(False)\n"
        "y = (w * w).sum()\ntorch.set_grad_enabled(True)\ny.backward()",
        "no grad_fn: grad mode off",
        ("ran while grad mode was off (since line 3 (torch.set_grad_enabled(False)))",),
        "Turn grad mode on",
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = (w * w).sum()\ny.backward()",
    ),
    Case(
        "a switch around one line",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nx = torch.ones(3, 2, requires_grad=True)\n"
        "torch.set_grad_enabled(False)\nout = x.exp()\ntorch.set_grad_enabled(True)\nloss = out.mean()\n"
        "loss.backward()",
        "no grad_fn: grad mode off",
        ("out = x.exp()",),
        "Turn grad mode on",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nx = torch.ones(3, 2, requires_grad=True)\n"
        "out = x.exp()\nloss = out.mean()\nloss.backward()",
    ),
    Case(
        "a leaf that is frozen",
        BEGIN + "w.requires_grad_(False)\ny = (w * w).sum()\ny.backward()",
        "no grad_fn: no leaf requires grad",
        ("w",),
        "requires_grad",
        BEGIN + "y = (w * w).sum()\ny.backward()",
        torch_kind="no grad_fn: cut",
        torch_why=("mul on line 4 (y = (w * w).sum()) recorded nothing", "w may no longer require grad"),
    ),
    Case(
        "a flag that is set to False",
        BEGIN + "w.requires_grad = False\ny = w.exp().sum()\ny.backward()",
        "no grad_fn: no leaf requires grad",
        ("w",),
        "requires_grad",
        BEGIN + "y = w.exp().sum()\ny.backward()",
        torch_kind="no grad_fn: cut",
        torch_why=("exp on line 4 (y = w.exp().sum()) recorded nothing",),
    ),
    Case(
        "a leaf that a function freezes",
        BEGIN + "def freeze(*leaves):\n    for leaf in leaves:\n        leaf.requires_grad_(False)\nfreeze(w)\n"
        "y = w.sin().sum()\ny.backward()",
        "no grad_fn: no leaf requires grad",
        ("w",),
        "requires_grad",
        BEGIN + "y = w.sin().sum()\ny.backward()",
        torch_kind="no grad_fn: cut",
        torch_why=("sin on line 7",),
    ),
    Case(
        "a switch in a function",
        "import torch\nw = torch.ones(3, requires_grad=True)\ndef evaluate():\n"
        "    torch.set_grad_enabled(False)\n    return 0\nevaluate()\nz = w.sin().sum()\n"
        "torch.set_grad_enabled(True)\nz.backward()",
        "no grad_fn: grad mode off",
        ("line 7 (z = w.sin().sum()) ran while grad mode was off (since line 4",),
        "Turn grad mode on",
        "import torch\nw = torch.ones(3, requires_grad=True)\ndef evaluate():\n    with torch.no_grad():\n"
        "        return 0\nevaluate()\nz = w.sin().sum()\nz.backward()",
    ),
    Case(
        "a decorator around a layer",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\n@torch.no_grad()\ndef predict(x):\n"
        "    return net(x)\nloss = predict(torch.ones(3, 2)).pow(2).mean()\nloss.backward()",
        "no grad_fn: grad mode off",
        ("line 6 (return net(x)) ran while grad mode was off (since line 4 (@torch.no_grad()))",),
        "Move line 6 out of torch.no_grad()",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\ndef predict(x):\n    return net(x)\n"
        "loss = predict(torch.ones(3, 2)).pow(2).mean()\nloss.backward()",
    ),
    Case(
        "detach of an output",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nout = net(torch.ones(3, 2)).detach()\n"
        "loss = nn.functional.mse_loss(out, torch.zeros(3, 1))\nloss.backward()",
        "no grad_fn: detached",
        ("line 4 (out = net(torch.ones(3, 2)).detach()) cut it from the result of linear on line 4",),
        "Remove detach() on line 4",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nout = net(torch.ones(3, 2))\n"
        "loss = nn.functional.mse_loss(out, torch.zeros(3, 1))\nloss.backward()",
    ),
    Case(
        "detach in place",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 3\nh.detach_()\nh.sum().backward()",
        "no grad_fn: detached",
        ("line 4 (h.detach_()) removed the history of h in place",),
        "Remove detach_() on line 4",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 3\nh.sum().backward()",
    ),
    Case(
        ".data of a leaf",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w.data * 2).sum()\nloss.backward()",
        "no grad_fn: .data",
        ("line 3 (loss = (w.data * 2).sum()) takes w.data, a tensor that shares the memory of w but not its history",),
        "Remove .data on line 3",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()",
    ),
    Case(
        ".data of parameters",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\n"
        "penalty = sum(p.data.pow(2).sum() for p in net.parameters())\npenalty.backward()",
        "no grad_fn: .data",
        (".data",),
        "Remove .data on line 4",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\n"
        "penalty = sum(p.pow(2).sum() for p in net.parameters())\npenalty.backward()",
    ),
    Case(
        ".data of a result",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = torch.tanh(w)\nh = h.data\n"
        "loss = (h * h).mean()\nloss.backward()",
        "no grad_fn: .data",
        ("line 4 (h = h.data) takes",),
        "Remove .data on line 4",
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = torch.tanh(w)\nloss = (h * h).mean()\n"
        "loss.backward()",
    ),
    Case(
        "a comparison",
        "import torch\nw = torch.ones(3, requires_grad=True)\nhits = (w > 0.5).float()\n"
        "loss = 1 - hits.mean()\nloss.backward()",
        "no grad_fn: not differentiable",
        ("gt on line 3 (hits = (w > 0.5).float()) is not differentiable",),
        "the input of gt",
        "import torch\nw = torch.ones(3, requires_grad=True)\nhits = torch.sigmoid(w - 0.5)\n"
        "loss = 1 - hits.mean()\nloss.backward()",
    ),
    Case(
        "whole numbers",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 10).long().sum().float()\nloss.backward()",
        "no grad_fn: not differentiable",
        ("to on line 3 (loss = (w * 10).long().sum().float()) is not differentiable",),
        "the input of to",
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 10).sum()\nloss.backward()",
    ),
    Case(
        "predicted classes",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 3)\n"
        "pred = net(torch.ones(4, 2)).argmax(dim=1)\nloss = (pred != 0).float().mean()\nloss.backward()",
        "no grad_fn: not differentiable",
        ("argmax on line 4",),
        "the input of argmax",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 3)\nlogits = net(torch.ones(4, 2))\n"
        "loss = nn.functional.cross_entropy(logits, torch.zeros(4, dtype=torch.long))\nloss.backward()",
    ),
]
