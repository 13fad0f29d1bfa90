import torch

x = torch.tensor([1.0, 2.0])
x.register_hook(print)  # no gradient will ever be computed for x
