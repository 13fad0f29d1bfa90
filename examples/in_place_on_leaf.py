import torch

x = torch.zeros(2, requires_grad=True)
x.add_(1)
