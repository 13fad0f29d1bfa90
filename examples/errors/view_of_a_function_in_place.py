import torch


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


w = torch.tensor([1.0, 2.0], requires_grad=True)
y = Same.apply(w * 2)
y += 1  # y is a view that a Function returned
