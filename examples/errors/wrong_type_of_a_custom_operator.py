import torch

library = torch.library.Library("shop", "FRAGMENT")
library.define("sale(Tensor x, int percent) -> Tensor")
library.impl("sale", lambda x, percent: x * percent, "CPU")
torch.ops.shop.sale(torch.ones(2), 0.5)
