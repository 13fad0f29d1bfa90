"""A transform that differentiates: autograd's kernel runs inside the layer, and once more below it."""

import torch

x = torch.tensor(2.0)

torch.func.grad(torch.sin)(x)
