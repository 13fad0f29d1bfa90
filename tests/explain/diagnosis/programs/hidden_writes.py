"""Programs that write to saved memory without bumping a version counter, and sound programs."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nimport numpy as np\nx = torch.ones(3, requires_grad=True)\n"
DATA, REPLACED, NUMPY = (
    "write through .data to a saved tensor",
    "saved leaf got other data",
    "write through NumPy to a saved tensor",
)

CASES = [
    Case(
        "a result that exp saved",
        BEGIN + "y = x.exp()\ny.data.mul_(2)\ny.sum().backward()",
        DATA,
        (
            "ExpBackward0, made on line 4 (y = x.exp()), saved y at version 0",
            "Line 5 (y.data.mul_(2)) then wrote to that memory",
            "On line 6 (y.sum().backward()) ExpBackward0 computed with the new numbers",
        ),
        "use mul instead of mul_",
        BEGIN + "y = x.exp()\ny = y.mul(2)\ny.sum().backward()",
    ),
    Case(
        "by a variable, and a part of it",
        BEGIN + "y = x.sigmoid()\nd = y.data\nd[0] = 7.0\ny.sum().backward()",
        DATA,
        ("SigmoidBackward0, made on line 4", "Line 6 (d[0] = 7.0) then wrote"),
        "y.clone() before line 6",
        BEGIN + "y = x.sigmoid()\nd = y.clone()\nd[0] = 7.0\nd.sum().backward()",
    ),
    Case(
        "a parameter between forward and backward",
        BEGIN + "loss = (x * x).sum()\nx.data -= 0.1\nloss.backward()",
        DATA,
        ("MulBackward0, made on line 4 (loss = (x * x).sum()), saved x at version 0", "Line 5 (x.data -= 0.1)"),
        "Move line 5 after the backward pass on line 6",
        BEGIN + "loss = (x * x).sum()\nloss.backward()\nx.data -= 0.1",
    ),
    Case(
        "a leaf with other data",
        BEGIN + "loss = (x * x).sum()\nx.data = torch.zeros(3)\nloss.backward()",
        REPLACED,
        ("saved x at version 0", "Line 5 (x.data = torch.zeros(3)) then gave it other memory"),
        "Move line 5 after",
        BEGIN + "loss = (x * x).sum()\nloss.backward()\nx.data = torch.zeros(3)",
    ),
    Case(
        "other data by another function",
        BEGIN + "def load(p, value):\n    p.data = value\n"
        "loss = (x ** 3).sum()\nload(x, torch.full((3,), 2.0))\nloss.backward()",
        REPLACED,
        ("PowBackward0, made on line 6 (loss = (x ** 3).sum()), saved x", "Line 5 (p.data = value)"),
        "Move line 5 after",
        BEGIN + "def load(p, value):\n    p.data = value\n"
        "loss = (x ** 3).sum()\nloss.backward()\nload(x, torch.full((3,), 2.0))",
    ),
    Case(
        "a parameter of a module gets other data",
        "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))\n"
        "out = net(torch.ones(1, 2)).sum()\nnet[1].weight.data = torch.zeros(2)\nout.backward()",
        REPLACED,
        ("NativeLayerNormBackward0", "saved net.1.weight at version 1", "Line 5"),
        "Move line 5 after",
        fixed=(
            "net[1].weight.data = torch.zeros(2)\nout.backward()",
            "out.backward()\nnet[1].weight.data = torch.zeros(2)",
        ),
    ),
    Case(
        "an array of a result",
        BEGIN + "y = x.exp()\na = y.detach().numpy()\na *= 2\ny.sum().backward()",
        NUMPY,
        ("ExpBackward0", "saved y at version 0", "Line 6 (a *= 2) then wrote to that memory through the NumPy array a"),
        ".numpy().copy() on line 5",
        BEGIN + "y = x.exp()\na = y.detach().numpy().copy()\na *= 2\ny.sum().backward()",
    ),
    *(
        Case(
            f"an array that {line.partition('(')[0]} writes to",
            BEGIN + f"y = x.exp()\na = y.detach().numpy()\n{line}\ny.sum().backward()",
            NUMPY,
            ("ExpBackward0", f"Line 6 ({line}) then wrote to that memory through the NumPy array a"),
            ".numpy().copy() on line 5",
            BEGIN + f"y = x.exp()\na = y.detach().numpy().copy()\n{line}\ny.sum().backward()",
        )
        for line in (
            "np.multiply(a, 2, out=a)",
            "np.copyto(a, 0)",
            "a[:] = 0",
            "a.fill(0)",
            "np.add.at(a, [0], 1)",
            "b = np.add(a, 1, out=a)",
            "np.random.shuffle(a)",
        )
    ),
    Case(
        "an array that is a tensor's memory",
        BEGIN + "b = np.ones(3, dtype=np.float32)\ny = torch.from_numpy(b)\nloss = (x * y).sum()\nb[0] = 9\n"
        "loss.backward()",
        NUMPY,
        ("MulBackward0", "saved y at version 0", "Line 7 (b[0] = 9)", "the NumPy array b"),
        "torch.tensor(b) on line 5",
        BEGIN
        + "b = np.ones(3, dtype=np.float32)\ny = torch.tensor(b)\nloss = (x * y).sum()\nb[0] = 9\nloss.backward()",
    ),
    Case(
        "an array without a variable",
        BEGIN + "y = x.tanh()\ny.detach().numpy()[0] = 5\ny.sum().backward()",
        NUMPY,
        ("TanhBackward0", "Line 5 (y.detach().numpy()[0] = 5)", "through a NumPy array"),
        ".numpy().copy()",
        fixed=(".numpy()[0]", ".numpy().copy()[0]"),
    ),
]

LAYER = "import torch\nfrom torch import nn\nnet = nn.{layer}\nout = net(torch.ones(1, 2, 5, 5)).sum()\n"

SOUND = {
    "an array that a function reads": BEGIN + "y = x.exp()\na = y.detach().numpy()\nb = np.multiply(a, 2)\n"
    "np.copyto(b, a)\nnp.add(a, 1, out=b)\ny.sum().backward()",
    "saved for an edge that is missing": LAYER.format(layer="Conv2d(2, 2, 3)")
    + "net.weight.data.zero_()\nout.backward()",
    "a view of a leaf keeps the memory": "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\n"
    "out = net(torch.ones(1, 2, requires_grad=True)).sum()\nnet.weight.data = torch.ones(1, 2)\nout.backward()",
    "detach is caught": BEGIN + "y = x.exp()\ny.detach().mul_(2)\ntry:\n    y.sum().backward()\nexcept RuntimeError:\n"
    "    pass",
    "nothing saved": BEGIN + "y = x + 1\ny.data.mul_(2)\ny.sum().backward()",
    "after the backward pass": BEGIN + "for i in range(3):\n    (x * x).sum().backward()\n    x.data -= 0.1 * x.grad\n"
    "    x.grad = None",
    "no backward pass": BEGIN + "y = x.exp()\ny.data.mul_(2)",
    "data only read": BEGIN + "y = x.exp()\nprint(y.data.mul(2))\ny.sum().backward()",
    "a result keeps its memory": BEGIN + "y = x.exp()\ny.data = torch.zeros(3)\ny.sum().backward()",
    "a new array": BEGIN + "y = x.exp()\na = y.detach().numpy()\na = a * 2\na[0] = 3\ny.sum().backward()",
    "an array that is only read": BEGIN + "y = x.exp()\na = y.detach().numpy()\nprint(a.sum())\ny.sum().backward()",
}
