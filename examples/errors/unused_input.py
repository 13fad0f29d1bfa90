import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
loss = (w * w).sum()
torch.autograd.grad(loss, [w, v])  # loss is not computed from v
