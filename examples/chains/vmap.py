"""Calls inside vmap: each meets the layer's front, the batch rule and the layer's back, then starts again below it."""

import torch

x = torch.ones(2, 3)
y = torch.ones(2, 3)

torch.vmap(torch.add)(x, y)
torch.vmap(torch.vmap(torch.add))(x, y)  # two layers take the path twice

library = torch.library.Library("chains", "DEF")
library.define("negative(Tensor x) -> Tensor")
library.impl("negative", lambda x: -x, "CPU")
torch.vmap(torch.ops.chains.negative)(x)  # no batch rule: the loop fallback calls it once per example
