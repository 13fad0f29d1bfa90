import torch

layer = torch.nn.Conv2d(3, 4, kernel_size=2)
layer(torch.ones(1, 1, 8, 8))  # one channel
