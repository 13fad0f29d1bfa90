import torch

counts = torch.tensor([1, 2])
counts /= 2  # the quotient is not an integer
