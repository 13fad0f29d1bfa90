import torch

torch.randn(2, device="cuda", generator=torch.Generator())
