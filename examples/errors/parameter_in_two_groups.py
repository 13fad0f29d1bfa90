import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.optim.SGD([{"params": [w]}, {"params": [w], "lr": 0.1}], lr=0.01)
