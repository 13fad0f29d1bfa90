import torch

x = torch.ones(2, 2, requires_grad=True)
y = x * 2
z = y + y
d = y.detach()
d.mul_(3)
z.sum().backward()
