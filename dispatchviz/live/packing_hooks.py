"""The test whether hooks pack the tensors that Nodes save (``torch.autograd.graph.saved_tensors_hooks``).

Reading a packed member of a Node would call the program's hook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PUSH, _POP = "_push_saved_tensors_default_hooks", "_pop_saved_tensors_default_hooks"


class PackingHooks:
    """The packing hooks of this thread. PyTorch 2.6 cannot report them, so there the hooks of all threads are
    counted.
    """

    def __init__(self, c: Any) -> None:
        self._autograd = c._autograd
        self._asked = getattr(c._autograd, "_top_saved_tensors_default_hooks", None)
        self._pushed = 0

    def there(self) -> bool:
        """Return whether this thread has packing hooks."""
        return self._pushed > 0 if self._asked is None else self._asked(True) is not None

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the hooks inside the block, where Python pushes and pops them, if PyTorch cannot report them."""
        if self._asked is not None:
            yield
            return
        before = {name: getattr(self._autograd, name) for name in (_PUSH, _POP)}
        for name, by in ((_PUSH, 1), (_POP, -1)):
            setattr(self._autograd, name, self._counting(before[name], by))
        try:
            yield
        finally:
            for name, original in before.items():
                setattr(self._autograd, name, original)

    def _counting(self, original: Callable[..., Any], by: int) -> Callable[..., Any]:
        def function(*args: Any) -> Any:
            result = original(*args)
            self._pushed += by
            return result

        return function
