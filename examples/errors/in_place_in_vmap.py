import torch

total = torch.zeros(3)
torch.vmap(lambda x: total.mul_(x))(torch.ones(2, 3))  # where is each of the two results to be written?
