import torch

torch.ones(2, 3).sum(2)  # its dimensions are 0 and 1
