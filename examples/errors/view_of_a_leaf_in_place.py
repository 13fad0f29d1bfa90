import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
w[0] = 5.0  # w[0] is a view of the leaf w
