"""A program that dies in C++."""

import ctypes

import torch

x = torch.ones(2).add(1)
for _ in range(3000):
    x.add(1)
print(x.tolist(), flush=True)
ctypes.string_at(0)
