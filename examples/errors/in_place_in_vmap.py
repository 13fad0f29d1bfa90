import torch

total = torch.zeros(3)
torch.vmap(lambda x: total.mul_(x))(torch.ones(2, 3))  # total has no place for two results
