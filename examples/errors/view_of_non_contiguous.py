import torch

x = torch.ones(2, 3).t()
x.view(6)  # its rows are not contiguous in memory
