import torch
from torch.autograd.function import once_differentiable


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 2


w = torch.tensor([1.0, 2.0], requires_grad=True)
(first,) = torch.autograd.grad((Double.apply(w) ** 2).sum(), w, create_graph=True)
first.sum().backward()
