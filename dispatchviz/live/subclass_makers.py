"""Functions of PyTorch that make a tensor of a subclass. Some raise for a tensor which has a Python object already, as
every tensor has that a watched kernel returned. Of a class with a ``__torch_dispatch__`` it is known from here whether
it tells its sizes itself.
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
    """Inside the block ``_make_subclass``, ``as_subclass`` and the class itself (``THPVariable_pynew``) take such
    tensors too, and do what they always do.

    Of a class with a ``__torch_dispatch__`` the tensor gets the Python key, which only they can give: what they call is
    then not watched.
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
        with c.DisableTorchFunction():  # nor does a function mode see these calls
            alias = torch.ops.aten.alias.default(self)
        alias.__class__ = cls
        return alias

    def make_subclass(cls: Any, data: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        if kwargs or not _is_plain(tensor, cls, data):
            seen(cls, not any(map(kwargs.get, POLICIES)))
            return _unseen(cells, ["aten::detach"], lambda: make(cls, data, requires_grad, **kwargs))
        with c.DisableTorchFunction():  # nor does a function mode see these calls
            detached = data.detach()
            if requires_grad and not (detached.is_floating_point() or detached.is_complex()):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            detached.requires_grad_(requires_grad)
        detached.__class__ = cls
        return detached

    def make_wrapper_subclass(cls: Any, *args: Any, **kwargs: Any) -> Any:
        seen(cls, len(args) <= PLAIN and not any(map(kwargs.get, POLICIES)))
        return wrap(cls, *args, **kwargs)

    def new(*args: Any, **kwargs: Any) -> Any:  # PyTorch's compiler expects such a signature, or none
        cls, args = args[0], args[1:]
        if cls is tensor or "cdata" in kwargs:  # the second is a tensor that is there already
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
"""Operators whose result a constructor may give a class."""
POLICIES = ("dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout")
"""Parameters with which the class is asked for its sizes, its device, its layout."""
PLAIN = 9
"""So many parameters of ``_make_wrapper_subclass`` come between the class and those."""


def _is_plain(tensor: Any, cls: Any, *data: Any) -> bool:
    """Return whether a Python class is all that the tensor needs; ``data`` is what it is made of."""
    plain = tensor.__torch_dispatch__
    return (
        isinstance(cls, type)
        and issubclass(cls, tensor)
        and getattr(cls, "__torch_dispatch__", None) == plain
        and all(isinstance(one, tensor) and type(one).__torch_dispatch__ == plain for one in data)
    )


def _unseen(cells: WatchedCells, operators: Sequence[str], call: Callable[[], Any]) -> Any:
    """The result of a call while the operators are not watched."""
    cells.lift(operators)
    try:
        return call()
    finally:
        cells.put_again(operators)
