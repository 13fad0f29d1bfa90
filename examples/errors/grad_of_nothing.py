import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.autograd.grad((w * w).sum(), [])
