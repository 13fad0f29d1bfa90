import torch

layer = torch.nn.LayerNorm(4)
layer(torch.ones(2, 3))
