"""A mode sees every operator, below autograd: matmul has come apart into mm by then, and the Node is made already.

Look at the key sets: inside the mode the thread includes Python and PythonTLSSnapshot; while the handler runs,
everything above Python is excluded, so what it calls goes straight to the CPU.
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
    z.exp().sum().backward()  # exp keeps its result: the mode is asked to detach it
