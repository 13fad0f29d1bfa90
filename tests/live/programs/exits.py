"""``sys.exit`` in the middle of a hook."""

import atexit
import sys

import torch

atexit.register(lambda: print("at exit", torch.ones(1).tolist()))
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda grad: sys.exit(5))
(x * 2).sum().backward()
