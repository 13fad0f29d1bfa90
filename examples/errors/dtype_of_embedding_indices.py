import torch

layer = torch.nn.Embedding(10, 4)
layer(torch.tensor([3.0]))
