import torch

torch.cat([])
