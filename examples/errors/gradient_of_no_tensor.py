import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, grad  # factor is a number


w = torch.tensor([1.0, 2.0], requires_grad=True)
Scaled.apply(w, 3.0).sum().backward()
