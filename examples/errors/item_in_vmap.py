import torch

torch.vmap(lambda x: x.item())(torch.ones(3))
