"""Kernels of PyTorch's own operators that a program replaces, and gives back."""

import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
library = torch.library.Library("aten", "IMPL")
library.impl("sin", lambda x: torch.full_like(x, 7.0), "CPU")
print(torch.sin(x))
library.impl("cos", lambda x: x.detach() * 0, "AutogradCPU")
print(torch.cos(x))
library.impl("exp", lambda x: torch.ops.aten.sin(x), "Autograd")
print(torch.exp(x))
library._destroy()
for f in (torch.sin, torch.cos, torch.exp):
    y = f(x)
    print(y, torch.autograd.grad(y.sum(), x))
again = torch.library.Library("aten", "IMPL")
again.impl("sin", lambda x: torch.full_like(x, 8.0), "CPU", allow_override=True)
print(torch.sin(x))
del again
import gc

gc.collect()
print(torch.sin(x))
with torch.library._scoped_library("aten", "IMPL") as scoped:
    scoped.impl("mul.Tensor", lambda a, b: a.clone(), "CPU")
    print(torch.mul(torch.tensor(3.0), torch.tensor(2.0)), torch.tensor(3.0) * 2)
print(torch.mul(torch.tensor(3.0), torch.tensor(2.0)))
fallback = torch.library.Library("_", "IMPL")
try:
    fallback.fallback(lambda op, *args, **kwargs: op(*args, **kwargs), "Negative")
except RuntimeError as error:
    print(error)
fallback._destroy()
