"""Differentiable views: on the way back, the ADInplaceOrView kernel turns the result of a call into one."""

import torch

x = torch.ones(2, 2)

x.view(4)
x.t()  # a composite of the backends: the guards above exclude autograd from the calls inside

z = torch.ones(2, 2, dtype=torch.complex64).conj()
z.view(4)  # a view needs no numbers, so the conjugate bit is not resolved
torch.add(z, z)
