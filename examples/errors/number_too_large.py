import torch

torch.tensor([1.0]).fill_(1e39)  # a float ends at 3.4e38
