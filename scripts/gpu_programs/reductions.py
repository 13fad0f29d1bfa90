"""Sums, means, extremes and softmax, over all elements and over one dimension."""

import torch

x = torch.linspace(-2, 2, 15, device="cuda").reshape(3, 5).requires_grad_()
parts = [x.sum(1), x.mean(0), x.var(1), x.amax(0), x.max(1).values, x.softmax(1).prod(1), x.cumsum(0)[-1]]
torch.cat(parts).norm().backward()
print(x.grad, x.argmax(), x.any(), x.logsumexp(0))
