import torch


class Double(torch.autograd.Function):
    def forward(self, x):  # not a staticmethod
        return x * 2

    def backward(self, grad):
        return grad * 2


w = torch.tensor([1.0, 2.0], requires_grad=True)
Double()(w)
