"""A tensor on a device that is not there: it holds a meta tensor and says that it is on cuda.

Its key set has the keys of a CUDA tensor and the two Python keys, so its calls pass AutogradCUDA on their way to
__torch_dispatch__. PyTorch's FakeTensor works like this.
"""

import torch
from torch.utils._pytree import tree_map_only


class OnCuda(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device="cuda")

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = tree_map_only(cls, lambda t: t.held, args)
        return tree_map_only(torch.Tensor, cls, func(*args, **(kwargs or {})))


a = OnCuda(torch.empty(2, 3, device="meta"))
b = (a * a).sum(1)
print(b.device, b.shape)
