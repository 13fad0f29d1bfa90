import torch

x = torch.ones(3)
x[torch.tensor([0.0, 1.0])]
