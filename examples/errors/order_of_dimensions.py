import torch

torch.ones(2, 3, 4).permute(1, 0)  # three dimensions, two numbers
