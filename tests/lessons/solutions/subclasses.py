import torch
from torch.utils._pytree import tree_map_only


class Half(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), dtype=held.dtype, device=held.device, requires_grad=held.requires_grad
        )

    def __init__(self, held):
        self.held = held.detach().half()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        held = tree_map_only(cls, lambda tensor: tensor.held.float(), args)
        result = func(*held, **(kwargs or {}))
        return tree_map_only(torch.Tensor, cls, result)


x = Half(torch.tensor([1.0, 2.0], requires_grad=True))
y = x * 3
y.sum().backward()
