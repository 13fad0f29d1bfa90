import torch

x = torch.zeros(3)
x[torch.tensor([0, 1])] = torch.ones(2, dtype=torch.float64)
