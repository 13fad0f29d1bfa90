import torch

layer = torch.nn.BatchNorm1d(2)
torch.vmap(layer)(torch.ones(3, 4, 2))
