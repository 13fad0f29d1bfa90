import torch

x = torch.ones(2, 128)
layer = torch.nn.Linear(64, 10)
layer(x)  # x has 128 columns
