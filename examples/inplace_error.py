import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

y = x * 2
z = y * y  # its gradient is 2 * y, so y is saved with its current version
y.add_(1)  # and here it changes

z.sum().backward()
