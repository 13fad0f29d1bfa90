"""Graphs that torch.jit.trace and make_fx record."""

import warnings

import torch
from torch.fx.experimental.proxy_tensor import make_fx

warnings.simplefilter("ignore")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.first(x).relu() + 1
        hidden = hidden * 1
        kept = hidden.size(0)
        rows = hidden.view(kept, -1)
        rows.add_(2)
        return self.second(rows) * 1 + torch.ones(2)


def function(x, y):
    made = x.new_zeros(x.shape)
    made[0] = 1
    both = torch.cat([x, y], 0)
    total = x + 1
    other = y + 1
    parts = both.chunk(2)
    return (total * other).sum() + made.sum() + parts[0].mean() * 2.5 + x.shape[0], both


x, y = torch.ones(2, 3), torch.full((2, 3), 2.0)
traced = torch.jit.trace(function, (x, y))
print(traced.graph)
print(traced(x, y), traced(torch.ones(4, 3), torch.ones(4, 3)))
net = torch.jit.trace(Net(), torch.ones(2, 3))
print(net.graph, net.code, net.inlined_graph)
print(net(torch.ones(5, 3)).sum())
net(torch.ones(5, 3)).sum().backward()
print(net.first.weight.grad)
try:
    torch.jit.trace(lambda a: a @ torch.ones(7), x)
except RuntimeError as error:
    print(error)
with torch._C._IncludeDispatchKeyGuard(torch._C._dispatch_key_parse("Tracer")):
    print(x + 1, torch.matmul(x, y.t()))
print(torch._C._IncludeDispatchKeyGuard.__name__, torch._C._IncludeDispatchKeyGuard.__module__)
with torch._C._IncludeDispatchKeyGuard("Tracer"):
    print(x - 1)
print(torch.jit.trace(function, (x, y)).graph)
for wrong in ("no key", 3.0):
    try:
        torch._C._IncludeDispatchKeyGuard(wrong)
    except (RuntimeError, TypeError) as error:
        print(str(error).partition("Invoked")[0])


def program(a, b):
    c = a @ b.t() + 1
    d = torch.nn.functional.gelu(c) * 2.0
    d[0] = 3
    return torch.softmax(d.view(-1), 0).sum() + a.shape[0]


for kind in ("real", "fake", "symbolic"):
    print(make_fx(program, tracing_mode=kind)(x, y).code)
print(make_fx(torch.func.grad(lambda a: (a * a).sum()))(x).code)
print(make_fx(torch.func.functionalize(program), pre_dispatch=True)(x, y).code)
