import torch

torch.vmap(torch.sin, in_dims=1)(torch.ones(3))
