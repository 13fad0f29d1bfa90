import torch

torch.linalg.svd(torch.full((2, 2), float("nan")))
