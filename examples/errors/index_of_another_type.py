import torch

x = torch.ones(3)
print(x[1.0])
