"""Pruning: masks over parts of parameters (``torch/nn/utils/prune.py``)."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.utils.convert_parameters import parameters_to_vector

# -- amounts -----------------------------------------------------------------------------------------------------------


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    highest = float("inf") if isinstance(amount, numbers.Integral) else 1.0
    if not 0.0 <= float(amount) <= highest:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount: Any, tensor_size: int) -> Any:
    """Return the number of pruned elements. Raise ValueError for more than there are."""
    count: Any = amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)
    if count > tensor_size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={tensor_size}")
    return count


def _check_structured(t: Any, dim: int) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {len(t.shape)} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _check_scores(scores: Any, tensor: Any, what: str) -> None:
    if scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {tensor.shape}"
        )


def _at(rank: int, dim: int, index: Any) -> tuple[Any, ...]:
    """Return an index of one dimension."""
    indices: list[Any] = [slice(None)] * rank
    indices[dim] = index
    return tuple(indices)


def _only(t: Any, dim: int, index: Any) -> Any:
    """Return a mask with ones at the index and zeros elsewhere."""
    mask = torch.zeros_like(t)
    mask[_at(len(t.shape), dim, index)] = 1
    return mask


# -- the base ----------------------------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """A hook that masks a parameter before each call. Subclasses compute the mask."""

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: Any

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask for these scores, within another mask."""

    def apply_mask(self, module: Any) -> Any:
        """Return the module's original times its mask. Raise AssertionError if there is none."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, orig = (getattr(module, self._tensor_name + suffix) for suffix in ("_mask", "_orig"))
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter, even one that is pruned already. Raise AssertionError for scores of another shape."""
        method = cls._joined(module, name, *args, **kwargs)
        orig = getattr(module, name)
        if importance_scores is None:
            importance_scores = orig
        else:
            _check_scores(importance_scores, orig, f"parameter {name} of {module}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            default_mask = torch.ones_like(orig)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    @classmethod
    def _joined(cls, module: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return this method, or a container of the previous method and this one."""
        old = {
            key: hook
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        }
        if len(old) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                "PruningContainer."
            )
        for key in old:
            del module._forward_pre_hooks[key]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        for hook in old.values():
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            return container
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a tensor with its mask applied. Raise AssertionError for scores of another shape."""
        if importance_scores is None:
            importance_scores = t
        else:
            _check_scores(importance_scores, t, "tensor t")
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the masked tensor the parameter. Raise AssertionError if it was not pruned."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        orig = module._parameters[name + "_orig"]
        orig.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, orig)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other. Each prunes the elements that the previous ones left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method. Raise TypeError for anything else, ValueError for a method of another parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask of the last method, within the mask of the others."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left = _left_over(method, t, default_mask)
        partial = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = partial.to(dtype=mask.dtype)
        return mask


def _left_over(method: Any, t: Any, mask: Any) -> Any:
    """Return the elements of a tensor that the previous methods have not pruned."""
    rank = t.dim()
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * rank
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + rank if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {rank}")
    return _at(rank, dim, mask.sum(dim=[d for d in range(rank) if d != dim]) != 0)


# -- methods -----------------------------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """A method that prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the given mask."""
        return default_mask


class _Amount(BasePruningMethod):
    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Prune numbers at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask. Raise ValueError for more numbers than there are."""
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.rand_like(t).view(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prune the smallest numbers."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask. Raise ValueError for more numbers than there are."""
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.abs(t).view(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask


class RandomStructured(_Amount):
    """Prune whole channels at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask. Raise ValueError for a vector and for more channels than there are, IndexError for an
        invalid dimension.
        """
        _check_structured(t, self.dim)
        channels = t.shape[self.dim]
        count = _count(self.amount, channels)
        if count == 0:
            return default_mask
        random = torch.rand(channels)
        mask = _only(t, self.dim, random > torch.kthvalue(random, k=count).values)
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


def _norms(t: Any, n: Any, dims: list[int]) -> Any:
    """Return the norm of each channel: a norm of matrices for ``nuc`` and, over two dimensions, ``fro``."""
    matrices = len(dims) == 2
    if n == "nuc" or (n == "fro" and matrices):
        return torch.linalg.matrix_norm(t, ord=n, dim=dims if matrices else (-2, -1))
    return torch.linalg.vector_norm(t, ord=2 if n == "fro" else n, dim=dims)


class LnStructured(_Amount):
    """Prune the channels with the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask. Raise ValueError for a vector and for more channels than there are, IndexError for an
        invalid dimension.
        """
        _check_structured(t, self.dim)
        channels = t.shape[self.dim]
        count = _count(self.amount, channels)
        dims = list(range(t.dim()))
        dims.remove(dims[self.dim])
        kept = torch.topk(_norms(t, self.n, dims), k=channels - count, largest=True)
        if count == 0:
            return default_mask
        mask = _only(t, self.dim, kept.indices)
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask. Raise AssertionError for a mask of another shape."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# -- functions ---------------------------------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones and return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune numbers of a parameter at random and return the module."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the smallest numbers of a parameter and return the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune channels of a parameter at random and return the module."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels with the smallest norms and return the module."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter by a given mask and return the module."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters as if they were one. Raise TypeError for arguments and methods of another kind."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: Any = parameters
    values = parameters_to_vector([scores.get((module, name), getattr(module, name)) for module, name in pairs])
    masks = [getattr(module, name + "_mask", torch.ones_like(getattr(module, name))) for module, name in pairs]
    default_mask = parameters_to_vector(masks)
    container = PruningContainer()
    method = pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask, start = container.compute_mask(values, default_mask), 0
    for module, name in pairs:
        param = getattr(module, name)
        count = param.numel()
        custom_from_mask(module, name, mask=mask[start : start + count].view_as(param))
        start += count


def remove(module: Any, name: str) -> Any:
    """Make the masked tensor the parameter and return the module. Raise ValueError if it was not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Return whether the module or one below it is pruned."""
    hooks = (hook for _, part in module.named_modules() for hook in part._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


for _class in [value for value in globals().values() if isinstance(value, type) and value.__module__ == __name__]:
    _class.__module__ = "torch.nn.utils.prune"
