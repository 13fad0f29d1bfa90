import torch

torch.vmap(lambda x: x + torch.randn(()))(torch.ones(3))
