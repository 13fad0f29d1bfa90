import torch

torch.nn.GroupNorm(3, 4)
