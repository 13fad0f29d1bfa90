import torch

torch.nn.functional.nll_loss(torch.ones(2, 3), torch.zeros(2))
