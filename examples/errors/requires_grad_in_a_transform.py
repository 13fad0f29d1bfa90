import torch

torch.func.grad(lambda x: x.requires_grad_().sum())(torch.ones(3))
