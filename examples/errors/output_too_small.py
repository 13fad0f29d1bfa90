import torch

layer = torch.nn.MaxPool2d(4)
layer(torch.ones(1, 1, 2, 2))
