import torch

torch.dot(torch.ones(2), torch.ones(2, dtype=torch.float64))
