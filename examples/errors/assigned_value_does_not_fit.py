import torch

x = torch.zeros(5)
x[torch.tensor([0, 1])] = torch.ones(3)
