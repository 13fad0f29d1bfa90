import torch

x = torch.ones(2, 3)
x.reshape(4)  # six elements
