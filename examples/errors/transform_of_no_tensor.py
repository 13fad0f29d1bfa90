import torch

torch.func.jacrev(lambda x: 1.0)(torch.ones(3))
