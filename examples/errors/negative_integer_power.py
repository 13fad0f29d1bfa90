import torch

torch.tensor([2, 3]) ** -1
