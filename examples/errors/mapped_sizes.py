import torch

torch.vmap(torch.add)(torch.ones(2), torch.ones(3))
