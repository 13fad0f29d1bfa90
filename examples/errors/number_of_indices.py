import torch

torch.zeros(3, 2).index_add(0, torch.tensor([0, 1]), torch.ones(3, 2))
