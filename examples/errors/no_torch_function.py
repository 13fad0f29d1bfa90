import torch


class Price:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


torch.add(torch.ones(2), Price())
