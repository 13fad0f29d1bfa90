"""Calls that create differentiable views: the ADInplaceOrView kernel turns the result into a view on the way back."""

import torch

x = torch.ones(2, 2)

x.view(4)
x.t()  # a composite of the backends: the guards above exclude autograd from the calls inside

z = torch.ones(2, 2, dtype=torch.complex64).conj()
z.view(4)  # a view needs no numbers, so the conjugate bit is not resolved
torch.add(z, z)
