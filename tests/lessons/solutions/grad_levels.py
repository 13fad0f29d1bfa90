import torch


def outer(x):
    return x * torch.func.grad(lambda y: x + y)(torch.tensor(2.0))


slope = torch.func.grad(outer)(torch.tensor(3.0))
