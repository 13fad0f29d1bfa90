import torch

torch.cat([torch.ones(2), [1.0]])
