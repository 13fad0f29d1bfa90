import torch

x = torch.ones(3)
x[torch.tensor([True, False])]
