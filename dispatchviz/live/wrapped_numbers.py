"""Wrapped numbers: tensors that PyTorch made of Python numbers. A kernel in Python is handed the number, while the
kernel that was in its cell shall get the tensor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

NUMBERS = (bool, int, float, complex)
KINDS: set[type] = {*NUMBERS}
"""Types of what a kernel in Python is handed for one: symbolic numbers, too."""

Unwatched = Callable[[Callable[[], Any]], Any]
"""Calls a function whose kernels are not told."""

MANY = 1 << 12
"""So many are kept."""


class WrappedNumbers(dict[tuple[type, str], Any]):
    """By type and text of the number, its tensor with the mark that makes it yield in promotion."""

    def __init__(self, torch: Any, unwatched: Unwatched) -> None:
        super().__init__()
        self._torch, self._unwatched = torch, unwatched
        self._symbolic = {torch.SymInt: 7777777, torch.SymFloat: float("nan"), torch.SymBool: True}
        KINDS.update(self._symbolic)
        self.texts: dict[int, str] = {}
        """The number as text, by the ``id`` of each tensor that is kept."""
        self._thread = threading.local()
        """``makes`` is set on a thread that makes one."""

    def of(self, number: complex) -> Any:
        """The tensor of a number."""
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

    def _of_symbol(self, symbol: Any) -> Any:
        """PyTorch's argument parser lets a tensor with some number of its kind have the symbol as an attribute."""
        tensor = self._made(self._symbolic[type(symbol)])
        tensor._wrapped_number = symbol
        return tensor

    def _made(self, number: complex) -> Any:
        """A Node that saved one hands it out unchanged. The Node is one of ``div_``, whose cells are not watched
        (``watched_cells.LEFT_ALONE``), and on another thread, which has sequence numbers and a state of its own: it is
        never in inference mode, where there are no Nodes.
        """
        return on_another_thread(lambda: self._unwatched(lambda: self._saved(number)))

    def _saved(self, number: complex) -> Any:
        torch = self._torch
        self._thread.makes = True
        dtype = torch.complex128 if isinstance(number, complex) else torch.float64
        one = torch.ones(1, dtype=dtype, device="cpu", requires_grad=True)
        return one.clone().div_(number, rounding_mode=None).grad_fn._saved_other

    def _plain(self, number: complex) -> Any:
        """A tensor of no dimension with the dtype that the number has."""
        wide = {float: self._torch.float64, complex: self._torch.complex128}
        return self._torch.tensor(number, dtype=wide.get(type(number)), device="cpu")


def on_another_thread(function: Callable[[], Any]) -> Any:
    """The result of a function on a thread that nobody watches begin; what it raises is raised here."""
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
