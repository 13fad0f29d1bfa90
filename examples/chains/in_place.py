"""Three kernels for an in-place call: the one for ADInplaceOrView bumps the version after the backend has written."""

import torch

x = torch.ones(2, 2)
y = torch.ones(2, 2)
with torch.inference_mode():
    without_autograd = torch.ones(2, 2)

x.mul_(y)

with torch.inference_mode():
    x.mul_(y)  # x is an ordinary tensor, so its version is bumped here, too

try:
    without_autograd.mul_(3)
except RuntimeError as error:
    print(error)
print(without_autograd.tolist())  # refused, but already written: the check comes after the backend
