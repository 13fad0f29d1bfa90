"""An uncaught error, after a warning."""

import warnings

import torch

warnings.warn("mind this", stacklevel=1)
x = torch.ones(2, requires_grad=True)
y = (x * 2).sum()
print((x * 2).grad)
torch.ones(2).T if False else torch.ones(2, 3, 4).T
torch.norm(torch.ones(2))
torch.empty(0).resize_(3).zero_()
torch.add(torch.ones(2), torch.ones(2), out=torch.empty(1))
y.backward()
y.backward()
x.exp().backward()
