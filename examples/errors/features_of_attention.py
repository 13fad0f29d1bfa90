import torch

layer = torch.nn.MultiheadAttention(8, 2)
x = torch.ones(4, 1, 6)
layer(x, x, x)
