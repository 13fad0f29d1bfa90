import torch

torch.zeros(3).masked_scatter(torch.tensor([True, True, False]), torch.ones(1))
