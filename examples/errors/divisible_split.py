import torch

torch.hsplit(torch.ones(2, 3), 2)
