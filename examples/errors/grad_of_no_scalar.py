import torch

torch.func.grad(lambda x: x * 2)(torch.ones(3))
