import torch


class Double(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad):
        return grad * 2


Double.apply(torch.ones(2))
