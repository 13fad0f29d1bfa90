"""An operator with a kernel for the CPU and nothing else: autograd's fallback redispatches and enters no guard."""

import torch

library = torch.library.Library("chain", "DEF")
library.define("negative(Tensor x) -> Tensor")
library.impl("negative", lambda x: -x, "CPU")

x = torch.ones(2)
f = torch._to_functional_tensor(x)

torch.ops.chain.negative(x)  # the neg in its kernel passes through autograd

torch.ops.chain.negative(f)  # dispatched twice: with Functionalize, and without on the tensor in f
