import torch

library = torch.library.Library("shop", "FRAGMENT")
library.define("bonus(Tensor x, int percent) -> Tensor")
library.impl("bonus", lambda x, percent: x * percent, "CPU")
torch.ops.shop.bonus(torch.ones(2))
