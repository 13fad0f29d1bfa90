import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w.exp()  # its gradient is y, so y is saved
y += 1
y.sum().backward()
