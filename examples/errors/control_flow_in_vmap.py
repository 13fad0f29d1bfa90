import torch

torch.vmap(lambda x: x if x > 0 else -x)(torch.ones(3))
