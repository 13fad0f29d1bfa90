"""A call with out=: it has three kernels, as an in-place call has, and no argument may require grad."""

import torch

x = torch.ones(2, 2)
y = torch.ones(2, 2)
o = torch.empty(2, 2)

torch.add(x, y, out=o)
