import torch

x = torch.ones(2)
x += torch.ones(3, 2)  # the sum has three rows
