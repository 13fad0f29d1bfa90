import torch

torch.bmm(torch.ones(3, 4), torch.ones(4, 5))
