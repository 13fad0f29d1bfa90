import torch

torch.vmap(lambda x: x.nonzero())(torch.ones(3, 2))
