import torch

layer = torch.nn.Embedding(10, 4)
layer(torch.tensor([3, 10]))  # the last row is 9
