import torch

x = torch.ones(3)
print(x[3])  # the last one is x[2]
