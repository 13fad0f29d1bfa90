"""The life of one add: autograd's kernel runs first and the CPU's kernel below it, for every way to call add."""

import torch

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)

torch.add(x, y)
x + y  # the same, from another binding
x + 1  # the number becomes a tensor without dimensions and is cast
torch.ops.aten.add.Tensor(x, y)  # begins boxed, then goes on as before

with torch.no_grad():
    torch.add(x, y)  # autograd's kernel runs but records no Node

with torch.inference_mode():
    torch.add(x, y)  # the only call that skips autograd's kernel
