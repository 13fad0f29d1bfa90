import torch
import torch.autograd.forward_ad as fwAD


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


with fwAD.dual_level():
    Double.apply(fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])))
