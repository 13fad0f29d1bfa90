"""Sorting with equal values, the largest values, unique values."""

import torch

x = torch.tensor([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 5.0, -1.0]], device="cuda", requires_grad=True)
values, indices = x.sort(dim=1, descending=True, stable=True)
largest, places = x.topk(2, dim=1)
(values[:, 0] + largest.sum(1)).sum().backward()
print(indices, places, x.grad)
print(torch.unique(x.detach(), return_counts=True), x.detach().argsort(dim=1, stable=True))
