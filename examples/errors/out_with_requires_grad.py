import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.mul(w, 2, out=torch.empty(2))  # out= is not recorded
