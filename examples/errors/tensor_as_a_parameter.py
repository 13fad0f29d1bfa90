import torch

layer = torch.nn.Linear(2, 2)
layer.weight = torch.ones(2, 2)  # a tensor, not a Parameter
