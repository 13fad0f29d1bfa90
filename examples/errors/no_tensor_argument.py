import torch

library = torch.library.Library("shop", "FRAGMENT")
library.define("total(Tensor[] x) -> Tensor")
library.impl("total", lambda x: sum(x), "CPU")
torch.ops.shop.total([])
