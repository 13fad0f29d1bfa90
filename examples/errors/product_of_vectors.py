import torch

torch.dot(torch.ones(2, 2), torch.ones(2, 2))  # these are matrices
