import torch

torch.ones(2).sum(dim="rows")  # a dimension is a number
