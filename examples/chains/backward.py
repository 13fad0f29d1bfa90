"""Down with sum, back with backward: the engine runs its formulas as ordinary calls, in the thread state of forward."""

import torch

x = torch.ones(2, 2, requires_grad=True)

x.sum().backward()
