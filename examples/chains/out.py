"""An output that is given: as in-place, three kernels, and nothing may require grad."""

import torch

x = torch.ones(2, 2)
y = torch.ones(2, 2)
o = torch.empty(2, 2)

torch.add(x, y, out=o)
