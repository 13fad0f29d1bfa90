import torch

x = torch.zeros(3)
x[0:2] = [1.0, 2.0]
