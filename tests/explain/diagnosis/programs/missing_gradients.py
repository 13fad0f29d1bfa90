"""Parameters that get no gradient, that no optimizer holds, and operators without an autograd kernel."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 4)
        self.aux = nn.Linear(4, 1)
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        h = self.body(x).relu()
        {forward}
net = Net()
{after}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
{made}
for i in range(2):
    opt.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    opt.step()
"""


def training(forward: str = "return self.head(h) + self.aux(h)", after: str = "", made: str = "") -> str:
    return NET.format(forward=forward, after=after or "pass", made=made or "pass")


MISSING, LACKS, NO_KERNEL = (
    "parameter without a gradient",
    "parameter that the optimizer lacks",
    "operator without an autograd kernel",
)

LIBRARY = """
import torch
lib = torch.library.Library("{name}", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", {kernel}, "CPU")
w = torch.ones(2, requires_grad=True)
y = torch.ops.{name}.twice(w)
(y * w).sum().backward()
"""

OPT, SCALE = "opt = torch.optim.SGD(net.parameters(), lr=0.1)", "net.scale = nn.Parameter(torch.ones(1))"
FORMULA = """
def setup(ctx, inputs, output):
    pass

torch.library.register_autograd("{name}::twice", lambda ctx, g: g * 2, setup_context=setup)
"""

CASES = [
    Case(
        "a result that no loss depends on",
        training("a = self.aux(h); return self.head(h)"),
        MISSING,
        (
            "aux.weight and aux.bias require grad and get no gradient",
            "while other parameters of net do",
            "Line 11 (a = self.aux(h); return self.head(h)) computes with them",
            "no loss depends on its result",
        ),
        "Make the loss depend on the result of line 11",
        training(),
    ),
    Case(
        "a result that was detached",
        training("return self.head(h) + self.aux(h).detach()"),
        MISSING,
        ("aux.weight and aux.bias require grad", "no loss depends on its result"),
        "Make the loss depend",
        training(),
    ),
    Case(
        "a comparison of a result",
        training("return self.head(h) * (self.aux(h) > 0)"),
        MISSING,
        ("aux.weight and aux.bias require grad", "Line 11 (return self.head(h) * (self.aux(h) > 0))"),
        "Make the loss depend",
        training("return self.head(h) * self.aux(h).sigmoid()"),
    ),
    Case(
        "a layer that was replaced",
        training(made="net.head = nn.Linear(4, 1)"),
        LACKS,
        (
            "opt holds the parameters that existed on line 14",
            "Line 15 (net.head = nn.Linear(4, 1)) made head.weight and head.bias afterwards",
            "line 19 (opt.step()) does not change them",
        ),
        "Create opt after line 15",
        training(after="net.head = nn.Linear(4, 1)"),
    ),
    Case(
        "a new model",
        training(made="net = Net()"),
        LACKS,
        ("Line 15 (net = Net()) made body.weight, body.bias, aux.weight and 3 more afterwards",),
        "Create opt after",
        fixed=(f"{OPT}\nnet = Net()", f"net = Net()\n{OPT}"),
    ),
    Case(
        "a new parameter",
        training("return self.head(h) + self.aux(h) * (self.scale if hasattr(self, 'scale') else 1)")
        .replace("    opt.step()", "    opt.step()")
        .replace("\npass\nfor", f"\n{SCALE}\nfor"),
        LACKS,
        ("Line 15 (net.scale = nn.Parameter(torch.ones(1))) made net.scale", "opt does not hold it"),
        "Create opt after line 15",
        fixed=(f"{OPT}\n{SCALE}", f"{SCALE}\n{OPT}"),
    ),
    Case(
        "its kernel calls operators",
        LIBRARY.format(name="first", kernel="lambda x: x * 2"),
        NO_KERNEL,
        ("first::twice, called on line 6", "has no kernel for the Autograd keys", "its kernel calls: MulBackward0"),
        'torch.library.register_autograd("first::twice"',
        fixed=("w = torch.ones", FORMULA.format(name="first") + "w = torch.ones"),
    ),
    Case(
        "its kernel detaches",
        LIBRARY.format(name="second", kernel="lambda x: x.detach() * 2"),
        NO_KERNEL,
        ("second::twice, called on line 6", "It has no Node in the graph, so its inputs get no gradient"),
        "torch.library.register_autograd",
        fixed=("w = torch.ones", FORMULA.format(name="second") + "w = torch.ones"),
    ),
    Case(
        "its kernel uses NumPy",
        LIBRARY.format(name="third", kernel="lambda x: torch.from_numpy(x.detach().numpy() * 2)"),
        NO_KERNEL,
        ("third::twice, called on line 6", "It has no Node"),
        "torch.library.register_autograd",
        fixed=("w = torch.ones", FORMULA.format(name="third") + "w = torch.ones"),
    ),
]

ON_THE_MODEL = [
    Case(
        "a layer that nothing calls",
        training("return self.head(h)"),
        MISSING,
        ("aux.weight and aux.bias require grad", "No recorded call computes with them"),
        "Use them in the forward pass",
        training("return self.head(h)", "net.aux.requires_grad_(False)"),
    ),
    Case(
        "no_grad",
        training("with torch.no_grad(): a = self.aux(h)\n        return self.head(h) + a"),
        MISSING,
        ("aux.weight and aux.bias", "Line 11 (with torch.no_grad(): a = self.aux(h))", "while grad mode is off"),
        "Move line 11",
        training(),
    ),
]
"""Programs whose parameters do not visibly require grad in a recording of an installed PyTorch: no Node has them as
inputs.
"""

SOUND = {
    "all get gradients": training(),
    "a frozen layer": training("return self.head(h)", "net.aux.requires_grad_(False)"),
    "a second model without a gradient": training(after="teacher = Net()"),
    "a target under no_grad": training(after="target = Net()\nwith torch.no_grad(): target(torch.ones(1, 2))"),
    "a model that is copied into": training(made="net.load_state_dict(Net().state_dict())"),
    "some gradients asked for": training() + "w, *_ = net.parameters()\ntorch.autograd.grad(net(torch.ones(1, 2)), w)",
}
