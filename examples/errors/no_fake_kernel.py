import torch

library = torch.library.Library("shop", "FRAGMENT")
library.define("tax(Tensor x) -> Tensor")
library.impl("tax", lambda x: x * 2, "CPU")
torch.ops.shop.tax(torch.ones(2, device="meta"))
