import torch

x = torch.tensor([0.5, 1.5])
list(range(5))[x]  # a list needs an integer
