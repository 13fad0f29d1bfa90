import torch

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2)
with torch.no_grad():
    z = torch.add(x, y)
print(z.requires_grad)
