"""A mode that sees every operator below autograd: matmul is already decomposed into mm, and the Node is created.

Look at the key sets: inside the mode the thread includes Python and PythonTLSSnapshot. While the handler runs,
everything above Python is excluded, so its calls go straight to the CPU.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Logging(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))


x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)
with Logging():
    z = torch.matmul(x, y)
    z.exp().sum().backward()  # exp saves its result, so the mode also sees a detach
