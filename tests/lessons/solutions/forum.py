import torch

x, y = torch.randn(2, 2).requires_grad_(), torch.randn(2)
with torch.no_grad():
    z = torch.add(x, y)
