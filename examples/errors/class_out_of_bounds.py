import torch

torch.nn.functional.cross_entropy(torch.ones(2, 5), torch.tensor([0, 5]))
