import torch

x = torch.ones(1).expand(3)  # three elements in one place of memory
x += 1
