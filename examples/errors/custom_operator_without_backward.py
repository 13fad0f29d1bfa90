import torch


@torch.library.custom_op("shop::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


w = torch.ones(2, requires_grad=True)
twice(w).sum().backward()
