import torch

torch.matmul(torch.tensor(2.0), torch.ones(2))
