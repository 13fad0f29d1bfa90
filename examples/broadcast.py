import torch

device = torch.device("cuda")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
y.requires_grad_()
z = torch.add(x, y)
z.sum().backward()
print(y.grad)  # the sum of two rows of ones, because y was added to both rows
