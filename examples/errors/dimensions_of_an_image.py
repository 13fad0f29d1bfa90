import torch

layer = torch.nn.Conv2d(3, 4, kernel_size=2)
layer(torch.ones(8, 8))  # neither channels nor batch
