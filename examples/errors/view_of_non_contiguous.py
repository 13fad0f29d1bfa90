import torch

x = torch.ones(2, 3).t()
x.view(6)  # its rows are not one after the other in memory
