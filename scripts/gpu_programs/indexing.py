"""Masks, index tensors, ``gather``, ``scatter_add`` and writes through an index, with gradients."""

import torch

x = torch.arange(12.0, device="cuda").reshape(3, 4).requires_grad_()
rows, columns = torch.tensor([0, 2, 0], device="cuda"), torch.tensor([1, 3, 1], device="cuda")
y = x * 1
y[rows, columns] = 7.0
picked = x[rows, columns].sum() + x[x > 5].sum() + x.gather(1, columns.reshape(3, 1)).sum() + y.sum()
picked.backward()
counted = torch.zeros(4, device="cuda").scatter_add(0, columns, torch.ones(3, device="cuda"))
print(x.grad, counted, torch.where(x > 5)[0])
