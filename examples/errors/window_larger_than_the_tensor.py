import torch

torch.ones(3).unfold(0, 4, 1)
