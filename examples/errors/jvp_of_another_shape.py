import torch

torch.func.jvp(torch.sin, (torch.ones(3),), (torch.ones(2),))
