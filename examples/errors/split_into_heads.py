import torch

torch.nn.MultiheadAttention(10, 3)
