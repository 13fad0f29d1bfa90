import torch

torch.tensor([1.0]).fill_(1e39)  # the largest float32 is 3.4e38
