import torch

layer = torch.nn.BatchNorm1d(4)
layer(torch.ones(2, 3))
