import torch

x = torch.zeros(3)
del x[0]
