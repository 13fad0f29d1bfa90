import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return 2  # not grad * 2


w = torch.tensor([1.0, 2.0], requires_grad=True)
Double.apply(w).sum().backward()
