import torch

layer = torch.nn.BatchNorm2d(3)
layer(torch.ones(2, 3))  # no height and no width
