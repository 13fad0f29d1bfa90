"""Composite operators have one kernel for autograd and backends alike; the Nodes belong to their inner calls."""

import torch

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)

torch.matmul(x, y)
y.reshape(4)  # a view suffices
y.t().reshape(4)  # a view does not suffice

with torch.autocast("cpu"):
    torch.mm(y, y)  # casts, then calls mm again with autocast excluded
    torch.add(y, y)  # no policy for add: its Autocast cell is a fallthrough
