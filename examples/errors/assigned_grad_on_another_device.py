import torch

w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(2, device="meta")
