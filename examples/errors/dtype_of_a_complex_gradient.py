import torch

w = torch.tensor([1.0 + 1.0j], requires_grad=True)
y = w * w
y.backward(torch.ones(1))  # the gradient is real
