import torch

layer = torch.nn.Conv2d(1, 1, kernel_size=3)
layer(torch.ones(1, 1, 2, 2))
