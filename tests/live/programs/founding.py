"""The founding program, with its graph walked."""

import torch

from graph import walk

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.tensor([4.0, 5.0, 6.0])
z = torch.add(x, y)
loss = z.sum()
walk(loss)
loss.backward()
print(x.grad.tolist(), z.tolist(), loss.item().hex(), vars(x), vars(z))
