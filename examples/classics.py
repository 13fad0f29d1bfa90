"""One function to run plain and in four other ways: dispatchviz diff --classics examples/classics.py"""

import torch


def layer(x, w):
    return torch.matmul(x, w).relu()


x = torch.ones(4, 2, 3)
w = torch.tensor([[0.5], [-1.0], [2.0]]).expand(4, 3, 1).clone().requires_grad_()
y = layer(x, w)  # vmap maps over the first dimension of both: [2, 3] times [3, 1], four times
y.float().sum().backward()
print(w.grad.shape)
