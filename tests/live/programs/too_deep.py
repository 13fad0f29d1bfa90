"""The end of the stack and of the memory."""

import torch


def deeper(depth):
    torch.ones(2) * 2
    return deeper(depth + 1)


for _ in range(3):
    try:
        deeper(0)
    except RecursionError as error:
        print("caught", error)
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda grad: bytearray(1 << 60))
try:
    y.sum().backward()
except MemoryError as error:
    print("caught", repr(error))
print(torch.ones(1) + 1)
