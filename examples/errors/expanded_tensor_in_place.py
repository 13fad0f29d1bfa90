import torch

x = torch.ones(1).expand(3)  # three elements share one place in memory
x += 1
