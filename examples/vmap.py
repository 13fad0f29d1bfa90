"""A function for a single example, run on a whole batch: every call enters vmap's layer and leaves it again."""

import torch

x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
y = torch.tensor([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])

s = torch.vmap(torch.sin)(x)  # a batch rule computes one sin for all rows
z = torch.vmap(torch.add)(s, y)
z.sum().backward()  # below the layer, autograd ran as usual
print(x.grad)
