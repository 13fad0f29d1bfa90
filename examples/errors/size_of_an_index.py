import torch

torch.ones(2, 2).gather(0, torch.zeros(2, 3, dtype=torch.long))
