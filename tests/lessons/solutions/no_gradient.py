import torch

x = torch.ones(2, requires_grad=True)
w = (torch.ones(2) * 0.5).requires_grad_()
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
c = torch.ones(2, requires_grad=True)
k = b * 2
y = x * w * a * k + c * 0
y.sum().backward()
