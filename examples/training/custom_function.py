"""A function with a backward of its own, hooks on the way, and a check of its gradient."""

import torch


class Cube(torch.autograd.Function):
    """x ** 3"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


x = torch.tensor([1.0, 2.0, -3.0], requires_grad=True)
y = Cube.apply(x)
print(y, y.grad_fn.name(), y.grad_fn.saved_tensors)
y.register_hook(lambda grad: print("gradient of y:", grad))
y.retain_grad()
handle = x.register_hook(lambda grad: grad.clamp(max=20))
(y * torch.tensor([1.0, 2.0, 1.0])).sum().backward()
handle.remove()
print(x.grad, y.grad)

(slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
print(slope, torch.autograd.grad(slope.sum(), x))
print(torch.autograd.functional.jacobian(Cube.apply, x.detach()))

with torch.no_grad():
    x -= 0.1 * x.grad
print(x, x.is_leaf, x._version)
try:
    torch.ones(2).sum().backward()
except RuntimeError as error:
    print(error)
