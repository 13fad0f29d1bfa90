import torch

torch.ones(2)[torch.zeros(1, dtype=torch.long, device="cuda")]
