"""Functions of PyTorch that raise for a tensor which has a Python object already, as every tensor has that a watched
kernel returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def python_tensors_may_have_objects(torch: Any) -> Iterator[None]:
    """Inside the block ``_make_subclass`` and ``as_subclass`` take such tensors too, and do what they always do."""

    def as_subclass(self: Any, cls: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            alias = torch.ops.aten.alias.default(self)
        alias.__class__ = cls
        return alias

    def made(cls: Any, data: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            detached = data.detach()
        if requires_grad and not (detached.is_floating_point() or detached.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        detached.__class__ = cls
        return detached.requires_grad_(requires_grad)

    def make_subclass(*args: Any, **kwargs: Any) -> Any:
        """``torch._dynamo`` compares the signature with that of its own, and any with this one."""
        return made(*args, **kwargs)

    torch.Tensor._make_subclass = staticmethod(make_subclass)
    torch.Tensor.as_subclass = as_subclass
    try:
        yield
    finally:
        del torch.Tensor._make_subclass, torch.Tensor.as_subclass  # the base class has the originals
