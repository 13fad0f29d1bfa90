import torch

x = torch.ones(2, 2)
w = torch.tensor([[0.5, -1.0], [2.0, 1.5]], requires_grad=True)
with torch.autocast("cpu"):
    h = torch.mm(x, w).relu()
    y = torch.mm(h, w)
y.float().sum().backward()
print(y.dtype, w.grad.dtype)
