import torch

torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2)
