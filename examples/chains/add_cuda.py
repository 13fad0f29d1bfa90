"""The same add on a GPU: other bits in the key set, the very same autograd kernel, another backend kernel."""

import torch

x = torch.ones(2, 2, device="cuda")
y = torch.ones(2, 2, device="cuda")
number = torch.tensor(1.0)

torch.add(x, y)
torch.add(x, number)  # a CPU tensor without dimensions is allowed: CUDA is the higher backend
