import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * 2  # now an AccumulateGrad waits for the gradient of x
x.requires_grad_(False)
x *= w  # x gets a history
y.sum().backward()
