import torch

layer = torch.nn.BatchNorm1d(3)
layer(torch.ones(1, 3))  # a batch of one row
