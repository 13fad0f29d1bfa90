import torch

torch.multinomial(torch.tensor([0.5, -0.5]), 1)
