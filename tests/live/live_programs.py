"""Small programs for the CPU that reach most of the facts that can be seen of an installed PyTorch."""

from __future__ import annotations

PROGRAMS = {
    "founding": """
import torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.tensor([4.0, 5.0, 6.0])
z = torch.add(x, y)
w = z * x
w.sum().backward()
print(x.grad)
""",
    "training": """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn(5, 3)
for step in range(2):
    optimizer.zero_grad()
    loss = net(data).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
    "views": """
import torch
x = torch.ones(4, requires_grad=True)
base = x * 2
row = base[1:3]
row.mul_(3)
base.add_(1)
back = base.view(2, 2).t()
back.sum().backward()
""",
    "error in backward": """
import torch
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
y.sum().backward()
""",
    "error in forward": """
import torch
a = torch.ones(2, 3)
b = torch.ones(2, 3)
c = a @ b
""",
    "function": """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 2
x = torch.ones(2, requires_grad=True)
y = Double.apply(x)
y.sum().backward()
""",
    "double backward": """
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
g, = torch.autograd.grad(y, x, create_graph=True)
g.backward()
""",
    "vmap": """
import torch
x = torch.arange(6.0).view(2, 3)
y = torch.vmap(lambda row: row.sin().sum())(x)
z = torch.func.grad(lambda t: (t * t).sum())(x)
""",
    "no grad": """
import torch
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    v = w * 2
    w -= 0.1 * v
with torch.inference_mode():
    u = w + 1
""",
    "autocast": """
import torch
x = torch.ones(2, 3, requires_grad=True)
w = torch.ones(3, 2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = x @ w
y.float().sum().backward()
""",
    "hooks": """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 3
y.register_hook(lambda grad: grad * 2)
y.retain_grad()
z = y + y.detach() + x
z.sum().backward()
z.sum()
x.grad = None
x.register_hook(len).remove()
""",
    "meta and complex": """
import torch
x = torch.ones(2, 2, device="meta")
y = x + 1
c = torch.ones(2, dtype=torch.complex64).conj()
d = c * 2
print(d)
""",
    "dispatch mode": """
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Log(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
x = torch.ones(2, requires_grad=True)
with Log():
    y = x * 2
y.sum().backward()
""",
    "own operator": """
import torch
library = torch.library.Library("own", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x + x, "CPU")
x = torch.ones(2)
y = torch.ops.own.twice(x)
library._destroy()
""",
    "names": """
import warnings
import torch
x = torch.ones(2)
with warnings.catch_warnings():
    warnings.simplefilter("always")
    warnings.warn("nothing to worry about")
print(x.shape)
del x
x = None
""",
}
"""The programs by name."""
