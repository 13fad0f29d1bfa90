import torch

torch.ones(4).split([1, 2])
