"""A tensor on a device that does not exist: it holds a meta tensor and claims to be on cuda.

Its key set has the keys of a CUDA tensor and the two Python keys, so its calls pass AutogradCUDA on their way to
__torch_dispatch__. PyTorch's FakeTensor works like this. With a gradient, backward calls __torch_dispatch__ too.
"""

import torch
from torch.utils._pytree import tree_map_only


class Holding(torch.Tensor):
    @staticmethod
    def __new__(cls, held, device):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), dtype=held.dtype, device=device, requires_grad=held.requires_grad
        )

    def __init__(self, held, device):
        self.held = held.detach()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print(func)
        device = next(a.device for a in args if isinstance(a, cls))
        held = tree_map_only(cls, lambda t: t.held, args)
        return tree_map_only(torch.Tensor, lambda t: cls(t, device), func(*held, **(kwargs or {})))


a = Holding(torch.empty(2, 3, device="meta"), "cuda")
b = (a * a).sum(1)
print(b.device, b.shape)

c = Holding(torch.tensor([1.0, 2.0], requires_grad=True), "cpu")
(c * c).sum().backward()
print(c.grad.held)
