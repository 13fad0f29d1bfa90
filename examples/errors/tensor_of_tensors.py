import torch

torch.tensor([torch.ones(2), torch.ones(2)])
