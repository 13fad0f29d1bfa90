"""An operator with a kernel for the CPU and nothing else: autograd's fallback hands on and keeps nothing out."""

import torch

library = torch.library.Library("chain", "DEF")
library.define("double(Tensor x) -> Tensor")
library.impl("double", lambda x: x * 2, "CPU")

x = torch.ones(2)
f = torch._to_functional_tensor(x)

torch.ops.chain.double(x)  # the mul in the kernel passes autograd

torch.ops.chain.double(f)  # the whole dispatch happens twice: with Functionalize, and without on what f wraps
