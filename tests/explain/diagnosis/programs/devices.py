"""Arguments on different devices."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\n"

PART = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.fc(x) * self.scale

net = Net().cuda()
y = net(torch.ones(2, 3).cuda())
"""

ON_A_GPU = [
    Case(
        "a module on cuda",
        BEGIN + 'model = nn.Linear(3, 1).to("cuda")\nx = torch.ones(2, 3)\nprint(model(x))',
        "devices: arguments differ",
        (
            "model (Linear) on line 5 (print(model(x))) takes tensors on one device",
            "x is on cpu and model.weight and model.bias are on cuda:0",
        ),
        "Move x to cuda:0, where model (Linear) is, before line 5: x.to('cuda:0')",
        BEGIN + "model = nn.Linear(3, 1).to(\"cuda\")\nx = torch.ones(2, 3)\nprint(model(x.to('cuda:0')))",
    ),
    Case(
        "a module on the cpu",
        BEGIN + 'model = nn.Conv2d(1, 2, 3)\nx = torch.ones(1, 1, 5, 5, device="cuda")\ny = model(x)',
        "devices: arguments differ",
        ("x is on cuda:0 and model.weight and model.bias are on cpu",),
        "Move x to cpu, where model (Conv2d) is",
        BEGIN + 'model = nn.Conv2d(1, 2, 3).cuda()\nx = torch.ones(1, 1, 5, 5, device="cuda")\ny = model(x)',
    ),
    Case(
        "targets",
        BEGIN
        + 'logits = torch.ones(2, 3, device="cuda")\ny = torch.tensor([0, 1])\nl = nn.CrossEntropyLoss()(logits, y)',
        "devices: arguments differ",
        ("cross_entropy on line 5", "logits is on cuda:0 and y is on cpu"),
        "Move y to cuda:0, before line 5: y.to('cuda:0')",
        BEGIN + 'logits = torch.ones(2, 3, device="cuda")\ny = torch.tensor([0, 1])\n'
        "l = nn.CrossEntropyLoss()(logits, y.to('cuda:0'))",
    ),
    Case(
        "cat",
        BEGIN + 'a = torch.ones(3, device="cuda")\nb = torch.ones(3)\nc = torch.cat([a, b])',
        "devices: arguments differ",
        ("cat on line 5", "a is on cuda:0 and b is on cpu"),
        "Move b to cuda:0",
        fixed=("[a, b]", "[a, b.to('cuda:0')]"),
    ),
    Case(
        "indices",
        BEGIN + 'a = torch.ones(3)\ni = torch.tensor([0], device="cuda")\nc = a[i]',
        "devices: arguments differ",
        ("index on line 5", "a is on cpu and i is on cuda:0"),
        "Move i to cpu",
        BEGIN + "a = torch.ones(3)\ni = torch.tensor([0], device=\"cuda\")\nc = a[i.to('cpu')]",
    ),
    Case(
        "an attribute that is no buffer",
        PART,
        "devices: arguments differ",
        ("the result of linear on line 11 is on cuda:0 and the result of ones on line 8 is on cpu",),
        "Register it on line 8, self.register_buffer('scale', ...)",
        PART.replace("self.scale = torch.ones(3)", "self.register_buffer('scale', torch.ones(3))"),
    ),
]

CASES = [
    Case(
        "a module on meta",
        BEGIN + "fc = nn.Linear(3, 2, device='meta')\nx = torch.ones(1, 3)\ny = fc(x)",
        "devices: arguments differ",
        ("fc (Linear) on line 5 (y = fc(x))", "x is on cpu and fc.weight and fc.bias are on meta"),
        "Create fc without device='meta' on line 3",
        BEGIN + "fc = nn.Linear(3, 2)\nx = torch.ones(1, 3)\ny = fc(x)",
    ),
    Case(
        "a module that was moved",
        BEGIN + "fc = nn.Linear(3, 2).to('meta')\nx = torch.ones(1, 3)\ny = fc(x)",
        "devices: arguments differ",
        ("x is on cpu and fc.weight and fc.bias are on meta",),
        "Create fc without device='meta'",
        BEGIN + "fc = nn.Linear(3, 2)\nx = torch.ones(1, 3)\ny = fc(x)",
    ),
    Case(
        "an addition",
        BEGIN + "a = torch.ones(3, device='meta')\nb = torch.ones(3)\nc = a + b",
        "devices: arguments differ",
        ("add on line 5 (c = a + b)", "a is on meta and b is on cpu"),
        "Create a without device='meta' on line 3",
        BEGIN + "a = torch.ones(3)\nb = torch.ones(3)\nc = a + b",
    ),
    Case(
        "item",
        BEGIN + "a = torch.ones(3, device='meta')\ntotal = a.sum()\nprint(total.item())",
        "devices: a tensor without data",
        ("item on line 5", "needs the values of total, but total is on meta"),
        "Compute total on line 4 (total = a.sum()) from tensors that are not on meta",
        fixed=(", device='meta'", ""),
    ),
    Case(
        "a copy",
        BEGIN + "a = torch.ones(3, device='meta')\nb = a.to('cpu')",
        "devices: a tensor without data",
        ("to on line 4 (b = a.to('cpu')) needs the values of a, but a is on meta",),
        "Create a without device='meta' on line 3",
        BEGIN + "a = torch.ones(3)\nb = a.to('cpu')",
    ),
    Case(
        "a branch",
        BEGIN + "a = torch.ones((), device='meta')\nif a:\n    print(1)",
        "devices: a tensor without data",
        ("needs the values of a, but a is on meta",),
        "Create a without device='meta' on line 3",
        BEGIN + "a = torch.ones(())\nif a:\n    print(1)",
    ),
]


WITHOUT_A_GPU = [
    Case(
        "a module",
        BEGIN + 'model = nn.Linear(3, 1).to("cuda")\nx = torch.ones(2, 3)',
        "devices: no CUDA",
        ("needs CUDA, but",),
        "torch.cuda.is_available()",
    ),
    Case(
        "a tensor",
        BEGIN + 'x = torch.ones(2, 3, device="cuda")',
        "devices: no CUDA",
        ('Line 3 (x = torch.ones(2, 3, device="cuda")) needs CUDA, but',),
        "torch.cuda.is_available()",
    ),
    Case(
        "cuda()",
        BEGIN + "def move(x):\n    return x.cuda()\ny = move(torch.ones(2))",
        "devices: no CUDA",
        ("Line 4 (return x.cuda()) needs CUDA, but",),
        "torch.cuda.is_available()",
    ),
]
"""Programs that raise only without a GPU. The model has CUDA."""
