import torch

layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
x = torch.ones(1, 4, 8)
layer(x, x, x, attn_mask=torch.zeros(3, 3))
