"""Forward with sum, back with backward: the engine calls formulas as ordinary calls, in the forward's thread state."""

import torch

x = torch.ones(2, 2, requires_grad=True)

x.sum().backward()
