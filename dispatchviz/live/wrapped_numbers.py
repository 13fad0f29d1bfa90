"""Wrapped numbers: tensors that PyTorch made from Python numbers.

A Python kernel receives the number, but the original kernel of the cell must receive the tensor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.foundation.unlocked_property import cached_property
from dispatchviz.live.key_numbers import raw_of

NUMBERS = (bool, int, float, complex)
FLOAT = 2
NO_TENSOR: tuple[int, bool, Any] = (-1, False, None)
KINDS: set[type] = {*NUMBERS}
"""Types of the numbers that a Python kernel receives, including symbolic ones."""

Unwatched = Callable[[Callable[[], Any]], Any]
"""A function that calls another one without recording its kernels."""

MANY = 1 << 12
"""The number of tensors that are kept."""


class WrappedNumbers(dict[tuple[type, str], Any]):
    """A cache of tensors by the type and text of the number. The tensors are marked as wrapped numbers, so they yield
    in type promotion.
    """

    def __init__(self, torch: Any, unwatched: Unwatched) -> None:
        super().__init__()
        self._torch, self._unwatched = torch, unwatched
        self._is_inference, self._key_set = torch.is_inference_mode_enabled, torch._C._dispatch_keys
        self._raw = raw_of(torch._C)
        self._symbolic = {torch.SymInt: 7777777, torch.SymFloat: float("nan"), torch.SymBool: True}
        KINDS.update(self._symbolic)
        self.texts: dict[int, str] = {}
        """The number as text, by the ``id`` of each tensor that is kept."""
        self._thread = threading.local()
        """The state of a thread. ``makes`` is set while the thread makes a tensor."""

    def of(self, number: complex) -> Any:
        """Return the tensor of a number."""
        if type(number) in self._symbolic:
            return self._of_symbol(number)
        if hasattr(self._thread, "makes"):
            return self._plain(number)
        key = type(number), repr(number)
        known = self.get(key)
        if known is None:
            if len(self) == MANY:
                self.clear()
                self.texts.clear()
            known = self._made(number)
            self[key] = known
            self.texts[id(known)] = key[1]
        return known

    def key_set(self, tensor: Any) -> int:
        """Return the raw key set of the tensor that PyTorch made from the number. Ours is never made in inference mode,
        where PyTorch's has no autograd keys (``inference_numbers.py``).
        """
        if self._is_inference():
            return self._in_inference_mode
        return int(self._raw(self._key_set(tensor)))

    @cached_property
    def _in_inference_mode(self) -> int:
        return int(on_another_thread(lambda: self._unwatched(self._inference_keys)))

    def _inference_keys(self) -> int:
        with self._torch.inference_mode():
            return int(self._torch._C._dispatch_keys(self._torch.empty(0, device="cpu")).raw_repr())

    def differentiated(self, number: complex, tensors: Sequence[Any]) -> Any:
        """Return the tensor of a number in a call with these tensors, where a transform of ``torch.func`` wraps it.

        A wrapper with the mark cannot be handed to Python, so this one has no mark. Its dtype makes promotion come to
        the same result. NB: if no tensor has dimensions, the number is rounded to their dtype (half precision), and the
        tangent of a float32 is a float32 where PyTorch's is a float64.
        """
        if type(number) in self._symbolic:
            return self.of(number)
        dtype = self._dtype(number, tensors)
        key = type(number), f"{number!r} {dtype}"
        known = self.get(key)
        if known is None:
            make = self._torch.tensor
            known = self[key] = on_another_thread(lambda: self._unwatched(lambda: make(number, dtype=dtype)))
            self.texts[id(known)] = repr(number)
        return known

    def _dtype(self, number: complex, tensors: Sequence[Any]) -> Any:
        torch, level = self._torch, NUMBERS.index(type(number))
        known: list[tuple[int, bool, Any]] = [(self._level(one.dtype), one.dim() > 0, one.dtype) for one in tensors]
        if any(has_dim and one >= level for one, has_dim, _ in known):
            return (torch.bool, torch.int64, torch.float64, torch.complex128)[level]
        highest, _, dtype = max(known, key=lambda one: (one[1], one[0]), default=NO_TENSOR)
        if highest >= level:
            return dtype
        default = dtype if highest == FLOAT else torch.get_default_dtype()
        return (torch.bool, torch.int64, default, default.to_complex())[level]

    def _level(self, dtype: Any) -> int:
        """Return the place of a number's kind in ``NUMBERS``."""
        return 3 if dtype.is_complex else FLOAT if dtype.is_floating_point else int(dtype != self._torch.bool)

    def _of_symbol(self, symbol: Any) -> Any:
        """Return the tensor of a symbolic number. PyTorch's argument parser lets a tensor with some number of the same
        kind have the symbol as an attribute.
        """
        tensor = self._made(self._symbolic[type(symbol)])
        tensor._wrapped_number = symbol
        return tensor

    def _made(self, number: complex) -> Any:
        """Return the tensor of a number, unpacked from a Node, which returns a saved wrapped number unchanged.

        The Node is one of ``div_``, whose cells are not watched (``watched_cells.LEFT_ALONE``). It is made on another
        thread with its own sequence numbers and its own state: that thread is never in inference mode, where there are
        no Nodes.
        """
        return on_another_thread(lambda: self._unwatched(lambda: self._saved(number)))

    def _saved(self, number: complex) -> Any:
        torch = self._torch
        self._thread.makes = True
        dtype = torch.complex128 if isinstance(number, complex) else torch.float64
        one = torch.ones(1, dtype=dtype, device="cpu", requires_grad=True)
        return one.clone().div_(number, rounding_mode=None).grad_fn._saved_other

    def _plain(self, number: complex) -> Any:
        """Return a tensor without dimensions, with the dtype of the number."""
        wide = {float: self._torch.float64, complex: self._torch.complex128}
        return self._torch.tensor(number, dtype=wide.get(type(number)), device="cpu")


def on_another_thread(function: Callable[[], Any]) -> Any:
    """Return the result of a function on a new, unwatched thread. Raise its error here."""
    result: list[Any] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            result.append(function())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    import _thread

    _thread.start_new_thread(run, ())
    done.wait()
    if errors:
        raise errors[0]
    return result[0]
