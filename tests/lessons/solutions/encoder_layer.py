import torch

attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
x = torch.randn(1, 3, 4)
attention(x, x, x)
attention(x, x, x, need_weights=False)
