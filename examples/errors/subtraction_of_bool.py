import torch

torch.tensor([True]) - torch.tensor([False])
