"""Subclasses and modes of torch functions and of the dispatcher."""

import copy

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("function", func.__name__, [t.__name__ for t in types])
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, requires_grad=elem.requires_grad
        )

    def __init__(self, elem):
        self.elem = elem

    def __repr__(self):
        return f"Wrapper({self.elem!r})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("dispatch", func)
        inner = lambda t: t.elem if isinstance(t, Wrapper) else t
        out = func(*tree_map(inner, args), **tree_map(inner, kwargs or {}))
        return tree_map(lambda t: Wrapper(t) if isinstance(t, torch.Tensor) else t, out)


class Alike(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("alike", func, types)
        with torch._C._DisableTorchDispatch() if hasattr(torch._C, "_DisableTorchDispatch") else torch.no_grad():
            return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print("mode", getattr(func, "__name__", func))
        return func(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("dispatch mode", func, [type(a).__name__ for a in args])
        return func(*args, **(kwargs or {}))


x = torch.tensor([1.0, 2.0], requires_grad=True)
n = torch.ones(2).as_subclass(Named)
print(type(n), type(n + 1), (n + x).grad_fn, type(n[0]), type(n.sum()), n.shape)
w = Wrapper(torch.tensor([1.0, 2.0]))
print(w + 1, w * 2.0, w.sum(), w.view(1, 2), w.add_(1), w[0], w.to(torch.float64), w @ w)
v = Wrapper(torch.tensor([1.0, 2.0])).requires_grad_()
loss = (v * v * 3).sum()
print(loss.grad_fn, loss.grad_fn.next_functions)
loss.backward()
print(v.grad, type(v.grad))
s = torch.Tensor._make_subclass(Named, torch.ones(2), True)
print(type(s), s.requires_grad, s.is_leaf, type(s.detach()))
p = torch.nn.Parameter(torch.ones(2))
print(
    type(p), p.requires_grad, torch.nn.Parameter(torch.ones(1).as_subclass(Named), False), torch.nn.Buffer(x.detach())
)
with Functions():
    print((x + 1).sum(), torch.ones(2).size())
    named = copy.deepcopy(x)
with Dispatches():
    y = (x.exp() * 2).sum()
    y.backward()
    z = torch.ones(2).add_(1).view(1, 2)
    print(x.grad.tolist(), z.tolist())
    q = torch.einsum("i,i->", x, x)
    twin = copy.deepcopy(z)
    with torch.no_grad():
        x.mul_(2)
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode() as mode:
    f = torch.empty(3, 4, requires_grad=True)
    g = torch.nn.functional.linear(f, torch.empty(5, 4))
    g.sum().backward()
    print(f, g, g.grad_fn, f.grad, (f + 1).shape, torch.matmul(f, f.t()).shape)
    try:
        print(g.sum().item())
    except Exception as error:
        print(type(error), error)
fake = mode.from_tensor(torch.ones(2, 2))
print(fake, fake + fake, (fake @ fake).device)
m = torch.ones(3, 4, device="meta", requires_grad=True)
r = (m @ m.t()).relu().sum()
r.backward()
print(r, m.grad, torch.nn.Linear(3, 2, device="meta")(torch.empty(1, 3, device="meta")).shape)
try:
    m.tolist()
except Exception as error:
    print(type(error), error)
with torch.device("meta"):
    print(torch.ones(2) + 1)
with torch.inference_mode():
    t = torch.ones(2) * 3
    t.add_(1)
    print(t, t.is_inference(), t[0].is_inference(), t * 2.5, torch.ones(2, dtype=torch.int) * 2.5)
for wrong in (lambda: t.add_(1), lambda: (t * x).sum().backward(), lambda: t._version):
    try:
        print(wrong())
    except Exception as error:
        print(type(error), error)
from torch.fx.experimental.proxy_tensor import make_fx

print(make_fx(lambda a: (a * 2).relu().sum())(torch.ones(3)).code)
print(make_fx(lambda a: (a * 2).relu().sum(), tracing_mode="fake")(torch.ones(3)).code)
print(torch.fx.symbolic_trace(lambda a: (a * 2).relu()).code)
