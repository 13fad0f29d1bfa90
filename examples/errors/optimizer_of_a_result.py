import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.optim.SGD([w * 2], lr=0.1)  # w * 2 has a grad_fn
