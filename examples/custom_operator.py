"""An operator of our own with a kernel for the CPU and nothing else: the result is right, but the gradient is lost.

Look at the first kernel of the call to demo::double. No autograd kernel was registered, so the AutogradCPU cell has
that key's fallback: it passes the call on and records no derivative.
"""

import torch

library = torch.library.Library("demo", "DEF")
library.define("double(Tensor x) -> Tensor")
library.impl("double", lambda x: x.detach() * 2, "CPU")  # detached, so it leaves no history, like a C++ kernel

x = torch.ones(3, requires_grad=True)
y = torch.ops.demo.double(x)
print(y.requires_grad)  # True: there is a Node, but it only warns
(y + x).sum().backward()
print(x.grad)  # 1, from the + x alone; with the derivative of double it would be 3
