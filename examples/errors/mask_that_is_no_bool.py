import torch

x = torch.ones(3)
x.masked_fill(torch.tensor([0, 1, 1]), 0.0)  # integers
