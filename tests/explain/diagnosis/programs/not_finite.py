"""Programs with NaN or infinity in a gradient, and with gates behind which gradients are zero.

A recording of an installed PyTorch has no numbers, so these diagnoses do not exist there.
"""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nx = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)\n"
WHERE, NODE, FORWARD, DEAD = (
    "not finite after where",
    "not finite in a Node",
    "not finite in the forward pass",
    "gradient of zeros after a gate",
)
NEGATIVE = "import torch\nw = torch.tensor([{w}], requires_grad=True)\nb = torch.tensor(1.0, requires_grad=True)\n"
GATE = NEGATIVE + "for i in range(3):\n    (torch.{gate} + b).sum().backward()\n    w.grad = b.grad = None"

CASES = [
    Case(
        "where and sqrt",
        BEGIN + "y = torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x))\ny.sum().backward()",
        WHERE,
        (
            "x gets the gradient [nan, 0.5, 0.25] on line 4 (y.sum().backward())",
            "nan first appears in SqrtBackward0",
            "from x = [0.0, 1.0, 4.0]",
            "WhereBackward0 passes it 0",
        ),
        "safe = torch.where(condition, x, 1)",
        BEGIN + "safe = torch.where(x > 0, x, 1)\ny = torch.where(x > 0, torch.sqrt(safe), torch.zeros_like(x))\n"
        "y.sum().backward()",
    ),
    Case(
        "where and log",
        BEGIN + "y = torch.where(x > 0, x.log(), 0)\ny.sum().backward()",
        WHERE,
        ("nan first appears in LogBackward0", "log on line 3", "WhereBackward0 passes it 0"),
        "before log on line 3",
        BEGIN + "safe = torch.where(x > 0, x, 1)\ny = torch.where(x > 0, safe.log(), 0)\ny.sum().backward()",
    ),
    Case(
        "where and a power",
        BEGIN + "y = torch.where(x > 0, x ** 0.5, 0)\ny.sum().backward()",
        WHERE,
        ("first appears in PowBackward0", "pow on line 3"),
        "before pow on line 3",
        fixed=("x ** 0.5", "torch.where(x > 0, x, 1) ** 0.5"),
    ),
    Case(
        "sqrt at 0",
        BEGIN + "y = x.sqrt()\ny.sum().backward()",
        NODE,
        ("x gets the gradient [inf, 0.5, 0.25]", "inf first appears in SqrtBackward0: it receives [1.0, 1.0, 1.0]"),
        "Add 1e-8 to x before sqrt on line 3",
        BEGIN + "y = (x + 1e-8).sqrt()\ny.sum().backward()",
    ),
    Case(
        "sqrt at 0 in a loop",
        BEGIN + "for i in range(3):\n    loss = (x - i).abs().sqrt().sum()\n    loss.backward()",
        NODE,
        ("inf first appears in SqrtBackward0", "sqrt on line 4"),
        "Add 1e-8 to its input before sqrt on line 4",
        fixed=(".abs()", ".abs().add(1e-8)"),
    ),
    Case(
        "a power at 0",
        BEGIN + "(x ** 0.5).sum().backward()",
        NODE,
        ("inf first appears in PowBackward0", "pow on line 3"),
        "Keep x before pow on line 3 away",
        fixed=("x **", "x.clamp(min=1e-8) **"),
    ),
    Case(
        "log of 0",
        BEGIN + "y = x.log()\nloss = y.sum()\nloss.backward()",
        FORWARD,
        ("inf first appears in the forward pass: log on line 3 (y = x.log()) returns [-inf", "for x = [0.0, 1.0, 4.0]"),
        "Clamp x before log on line 3, .clamp(min=1e-8)",
        BEGIN + "y = x.clamp(min=1e-8).log()\nloss = y.sum()\nloss.backward()",
    ),
    Case(
        "1 / 0",
        BEGIN + "y = 1 / x\n(y * y).sum().backward()",
        FORWARD,
        ("inf first appears in the forward pass: reciprocal on line 3 (y = 1 / x) returns [inf, 1.0, 0.25]",),
        "Give reciprocal on line 3",
        fixed=("1 / x", "1 / (x + 1)"),
    ),
    Case(
        "exp of a large number",
        BEGIN + "y = (x * 100).exp()\ny.mean().backward()",
        FORWARD,
        ("exp on line 3 (y = (x * 100).exp()) returns [1.0, inf, inf]",),
        "Give exp on line 3",
        fixed=("* 100", "* 10"),
    ),
    Case(
        "nan in the data",
        BEGIN + "data = torch.tensor([1.0, float('nan'), 2.0])\nloss = (x * data).sum()\nloss.backward()",
        "not finite in the data",
        (
            "Line 3 (data = torch.tensor(",
            "creates data with nan: [1.0, nan, 2.0]",
            "gives x the gradient [1.0, nan, 2.0]",
        ),
        "Take nan out of the data of data",
        fixed=("(x * data)", "(x * torch.nan_to_num(data))"),
    ),
    Case(
        "a dead ReLU",
        GATE.format(w="-1.0, -2.0", gate="relu(w * 2)"),
        DEAD,
        (
            "In each of the three backward passes on line 5",
            "w gets a gradient of zeros",
            "receives [1.0, 1.0] and returns zeros",
            "[-2.0, -4.0]",
        ),
        "Move some inputs of relu into the range",
        GATE.format(w="1.0, 2.0", gate="relu(w * 2)"),
    ),
    Case(
        "a saturated clamp",
        GATE.format(w="3.0, -2.0", gate="clamp(w, -1, 1)"),
        DEAD,
        ("ClampBackward1", "clamp on line 5", "w = [3.0, -2.0]"),
        "Move some inputs of clamp",
        GATE.format(w="0.3, -0.2", gate="clamp(w, -1, 1)"),
    ),
    Case(
        "a saturated hardtanh",
        GATE.format(w="3.0, -2.0", gate="nn.functional.hardtanh(w)"),
        DEAD,
        ("HardtanhBackward0", "hardtanh on line 5"),
        "Move some inputs of hardtanh",
        fixed=("[3.0, -2.0]", "[3.0, -0.5]"),
    ),
    Case(
        "infinity in a factor",
        "import torch\nw = torch.ones(3, requires_grad=True)\nscale = torch.tensor([1.0, float('inf'), 1.0])\n"
        "(w * scale).sum().backward()",
        "not finite in the data",
        (
            "creates scale with inf",
            "gives w the gradient [1.0, inf, 1.0]",
        ),
        "Take inf out of the data of scale",
        "import torch\nw = torch.ones(3, requires_grad=True)\nscale = torch.tensor([1.0, 2.0, 1.0])\n"
        "(w * scale).sum().backward()",
    ),
    Case(
        "nan in a target",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\ny = torch.tensor([[0.0], [float('nan')]])\n"
        "loss = ((net(torch.ones(2, 2)) - y) ** 2).mean()\nloss.backward()",
        "not finite in the data",
        (
            "Line 4",
            "creates y with nan: [[0.0], [nan]]",
        ),
        "Take nan out of the data of y",
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\ny = torch.tensor([[0.0], [1.0]])\n"
        "loss = ((net(torch.ones(2, 2)) - y) ** 2).mean()\nloss.backward()",
    ),
]

SOUND = {
    "a mask of infinity": BEGIN + "x.masked_fill(x > 2, float('-inf')).softmax(0).pow(2).sum().backward()",
    "nan that no gradient meets": BEGIN + "print(torch.tensor(float('nan')) + 1)\n(x * x).sum().backward()",
    "a gradient scaler": BEGIN + "s = torch.amp.GradScaler('cpu')\no = torch.optim.SGD([x], lr=0.1)\n"
    "s.scale((x * float('inf')).sum()).backward()\ns.step(o)\ns.update()",
    "half of a ReLU": GATE.format(w="-1.0, 2.0", gate="relu(w)"),
    "a ReLU that opens": NEGATIVE.format(w="-1.0, -2.0")
    + "for i in range(3):\n    (torch.relu(w + i) + b).sum().backward()\n    w.grad = b.grad = None",
    "a way around": NEGATIVE.format(w="-1.0, -2.0") + "(torch.relu(w) + w + b).sum().backward()",
    "zeros from the root on": NEGATIVE.format(w="-1.0, -2.0") + "((torch.relu(w) + b) * 0).sum().backward()",
}
