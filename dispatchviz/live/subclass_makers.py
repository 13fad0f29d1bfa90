"""Functions of PyTorch that make a tensor of a subclass.

Some of them raise an error for a tensor that already has a Python object, as each tensor has that a watched kernel
returned. This is also where the recorder learns whether a class with a ``__torch_dispatch__`` answers for the sizes of
its tensors itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dispatchviz.live.watched_cells import PYTHON

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_cells import WatchedCells


@contextmanager
def subclass_makers_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Let ``_make_subclass``, ``as_subclass`` and the constructor of the class (``THPVariable_pynew``) accept these
    tensors too, inside the block.

    For a class with a ``__torch_dispatch__`` the original functions run, because only they can give the tensor the
    Python key. The operators that they call are not watched then.
    """
    tensor, c, cells = torch.Tensor, torch._C, watch.cells
    make, convert, wrap = tensor._make_subclass, tensor.as_subclass, tensor._make_wrapper_subclass

    def seen(cls: Any, is_plain: bool) -> None:
        cells.meet(PYTHON)
        if isinstance(cls, type):
            watch.facts.wrapper_made(cls, is_plain)

    def as_subclass(self: Any, cls: Any) -> Any:
        if not _is_plain(tensor, cls, self):
            seen(cls, True)
            return _unseen(cells, ["aten::alias"], lambda: convert(self, cls))
        with c.DisableTorchFunction():  # a function mode must not see these calls either
            alias = torch.ops.aten.alias.default(self)
        alias.__class__ = cls
        return alias

    def make_subclass(cls: Any, data: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        if kwargs or not _is_plain(tensor, cls, data):
            seen(cls, not any(map(kwargs.get, POLICIES)))
            return _unseen(cells, ["aten::detach"], lambda: make(cls, data, requires_grad, **kwargs))
        with c.DisableTorchFunction():  # a function mode must not see these calls either
            detached = data.detach()
            if requires_grad and not (detached.is_floating_point() or detached.is_complex()):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            detached.requires_grad_(requires_grad)
        detached.__class__ = cls
        return detached

    def make_wrapper_subclass(cls: Any, *args: Any, **kwargs: Any) -> Any:
        seen(cls, len(args) <= PLAIN and not any(map(kwargs.get, POLICIES)))
        return wrap(cls, *args, **kwargs)

    def new(*args: Any, **kwargs: Any) -> Any:  # PyTorch's compiler expects this signature, or none
        cls, args = args[0], args[1:]
        if cls is tensor or "cdata" in kwargs:  # with ``cdata`` it is an existing tensor
            return construct(cls, *args, **kwargs)
        if not _is_plain(tensor, cls, *args[:1] if args and isinstance(args[0], tensor) else ()):
            return _unseen(cells, CONSTRUCTING, lambda: construct(cls, *args, **kwargs))
        made = construct(tensor, *args, **kwargs)
        made.__class__ = cls
        return made

    construct = tensor.__new__
    tensor._make_subclass, tensor.as_subclass = staticmethod(make_subclass), as_subclass
    tensor._make_wrapper_subclass, tensor.__new__ = staticmethod(make_wrapper_subclass), staticmethod(new)
    try:
        yield
    finally:  # the base class has the originals
        del tensor._make_subclass, tensor.as_subclass, tensor._make_wrapper_subclass, tensor.__new__


CONSTRUCTING = ("aten::alias", "aten::empty.memory_format", "aten::lift_fresh", "aten::detach", "aten::to.device")
"""Operators whose result a constructor may convert to another class."""
POLICIES = ("dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout")
"""Parameters that make PyTorch ask the class for its sizes, its device or its layout."""
PLAIN = 9
"""The number of parameters of ``_make_wrapper_subclass`` between the class and those."""


def _is_plain(tensor: Any, cls: Any, *data: Any) -> bool:
    """Return whether changing the Python class is enough. ``data`` is the tensor that the new one is made from."""
    plain = tensor.__torch_dispatch__
    return (
        isinstance(cls, type)
        and issubclass(cls, tensor)
        and getattr(cls, "__torch_dispatch__", None) == plain
        and all(isinstance(one, tensor) and type(one).__torch_dispatch__ == plain for one in data)
    )


def _unseen(cells: WatchedCells, operators: Sequence[str], call: Callable[[], Any]) -> Any:
    """Return the result of a call, without watching the given operators."""
    cells.lift(operators)
    try:
        return call()
    finally:
        cells.put_again(operators)
