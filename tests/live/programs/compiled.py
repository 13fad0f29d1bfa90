"""torch.compile and TorchScript, beside the dispatcher."""

import torch
from graph import walk

torch.manual_seed(2)
x = torch.randn(4, requires_grad=True)


def f(v, scale=2.0):
    w = v.sin() * scale
    w.add_(1)
    return torch.nn.functional.gelu(w).sum()


for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    x.grad = None
    y = compiled(x)
    y.backward()
    walk(compiled(x)) if backend == "eager" else print(compiled(x).grad_fn.name())
    print(backend, y.item().hex(), x.grad.tolist(), compiled(torch.ones(7)).item().hex())
    print(compiled(x, 3.0).item().hex(), f(x).item().hex())
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    out = torch.compile(net, backend=backend)(x)
    out.sum().backward()
    print(out.tolist(), net[0].weight.grad.tolist())


torch._dynamo.reset()
batched = torch.compile(lambda a, b: torch.vmap(torch.dot)(a, b).sum(), backend="eager")
print(batched(torch.ones(2, 3), torch.ones(2, 3)), torch.compile(torch.func.grad(f), backend="eager")(torch.ones(3)))


def breaks(v):
    w = v * 2
    print("in the middle", w.shape)
    if w.sum() > 0:
        w = w + 1
    return [t * 2 for t in (w, v)]


print(torch.compile(breaks, backend="aot_eager")(torch.ones(2)), torch._dynamo.utils.counters["graph_break"])


def shown(graph, inputs):
    print(graph.code.strip())
    return graph.forward


print(torch.compile(f, backend=shown)(torch.ones(3)))


@torch.jit.script
def scripted(v: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        v = v * 2 + i
    return v.relu()


print(scripted(x, 3), scripted.graph)
z = scripted(x, 2)
z.sum().backward()
print(x.grad)
traced = torch.jit.trace(torch.nn.Linear(4, 2), torch.ones(1, 4))
print(traced.graph, traced(torch.zeros(1, 4)))
print(torch.jit.trace(lambda v: (v * 2 + 1).relu().sum(), torch.ones(3)).code)
print(torch.export.export(torch.nn.Linear(4, 2), (torch.ones(1, 4),)).graph_module.code)
with torch.profiler.profile() as profile:
    torch.ones(3).add(1)
print(len(profile.events()) > 0)
