"""A library in which something is wrong with each operator."""

import torch

library = torch.library.Library("mylib", "DEF")
library.define("halve(Tensor x) -> Tensor")
library.define("double(Tensor x) -> Tensor")
library.define("count(Tensor x) -> Tensor")
library.define("shift(Tensor x, float by) -> Tensor")
library.define("twice(Tensor x) -> Tensor")


def halve_cpu(x):
    return x / 2


def double_cpu(x):
    return x * 2


def count_cpu(x):
    return (x > 0).sum()


def shift_cpu(x, by):
    return x + by


def shift_toy(x, by):
    return OnToy(x.held + by)


def twice_cpu(x):
    return x.mul_(2)


library.impl("halve", halve_cpu, "CUDA")
library.impl("double", double_cpu, "CPU")
library.impl("count", count_cpu, "CPU")
library.impl("shift", shift_cpu, "CPU")
library.impl("shift", shift_toy, "PrivateUse1")
library.impl("twice", twice_cpu, "CPU")
library.impl("twice", torch.library.fallthrough_kernel, "Autograd")


class OnToy(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device="privateuseone:0")
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        held = [arg.held if isinstance(arg, OnToy) else arg for arg in args]
        return OnToy(func(*held, **(kwargs or {})))
