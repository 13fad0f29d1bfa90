import torch

torch.zeros(3).scatter(0, torch.tensor([[0]]), 1.0)
