import torch

x = torch.ones(3)
print(x[0, 0])
