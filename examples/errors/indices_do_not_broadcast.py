import torch

x = torch.ones(4, 4)
x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
