import torch

layer = torch.nn.LSTM(3, 5)
layer(torch.ones(2, 1, 4))
