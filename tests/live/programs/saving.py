"""Custom Functions that save, under hooks, in a mode, compiled."""

import gc
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Told(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale=2):
        y = x**3 * scale
        ctx.save_for_backward(x, None, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad):
        x, nothing, y = ctx.saved_tensors
        print(type(ctx).__name__, nothing, y.grad_fn is not None, sorted(vars(ctx)))
        return 3 * x**2 * ctx.scale * grad, None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.view(-1), x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, *output)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        return (first + second * 2).view(2)


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x)
y.sum().backward()
print(x.grad, y.grad_fn, Cube.apply, torch.autograd.function.FunctionCtx.save_for_backward.__name__)
with torch.autograd.graph.saved_tensors_hooks(lambda t: print("pack") or t, lambda t: print("unpack") or t):
    kept = Cube.apply(x)
named = kept
print(named.grad_fn.saved_tensors[0] is x)
named.sum().backward()
with Told():
    z = Cube.apply(x, 3)
    z.sum().backward()
view, double = Pair.apply(x)
with torch.no_grad():
    view += 0
try:
    (view.sum() + double.sum()).backward()
except RuntimeError as error:
    print(error)
with torch.no_grad():
    print(Cube.apply(x).requires_grad)
with torch.inference_mode():
    print(Cube.apply(torch.ones(2)).requires_grad)
print(torch.func.grad(lambda a: Pair.apply(a)[1].sum())(torch.ones(2)))
freed = weakref.ref(y.grad_fn)
del y
gc.collect()
print(freed())


@torch.compile(backend="eager")
def compiled(a):
    return Cube.apply(a).sum()


for _ in range(3):
    compiled(x).backward()
print(x.grad, torch._dynamo.utils.counters["frames"], torch._dynamo.utils.counters["graph_break"])
