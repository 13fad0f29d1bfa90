"""Functions of torch.autograd.Function in all their forms."""

import torch
from graph import walk
from torch.autograd.function import once_differentiable


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        print("forward", ctx.needs_input_grad, torch.is_grad_enabled(), x.requires_grad)
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, a, b):
        x, y = ctx.saved_tensors
        print("backward", a, b, x is leaf, torch.is_grad_enabled())
        return a * y + b, a * x + b


class New(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info, in_dims, x):
        return New.apply(x), in_dims[0]


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 3


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        indices = x.argmax()
        ctx.mark_non_differentiable(indices)
        return x.view_as(x), indices

    @staticmethod
    def backward(ctx, grad, _):
        return grad


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("in backward")


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = Old.apply(leaf, torch.tensor([3.0, 4.0]))
walk(a + b)
print(type(a.grad_fn).__name__, a.grad_fn is b.grad_fn, a.grad_fn.saved_tensors)
(a + b).sum().backward()
print(leaf.grad)
y = New.apply(leaf)
print(torch.autograd.grad(y.sum(), leaf, create_graph=True), torch.vmap(New.apply)(torch.ones(2, 2)))
print(torch.func.grad(lambda v: New.apply(v).sum())(torch.ones(2)))
z = Once.apply(leaf)
g, = torch.autograd.grad(z.sum(), leaf, create_graph=True)
for call in (lambda: g.sum().backward(), lambda: Raises.apply(leaf).sum().backward(), lambda: Dirty.apply(leaf)):
    try:
        call()
    except Exception as error:
        print(type(error), error)
d = leaf.clone()
e = Dirty.apply(d)
walk(e.sum())
print(e is d, e, torch.autograd.grad(e.sum(), leaf))
w, i = Whole.apply(leaf)
print(w, i, i.requires_grad, w._base is leaf)
try:
    w.add_(1)
except Exception as error:
    print(type(error), error)
