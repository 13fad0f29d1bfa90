import torch

print(torch.ones(3).mT)
