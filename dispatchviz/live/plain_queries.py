"""The program's own questions about registrations, ``torch._C._dispatch_dump_table("aten::add.Tensor")``, answered as
without a recording: our kernels are out of the cells meanwhile.

Only a call by the program itself is answered like this, because PyTorch's Python code asks often.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.running.call_sites import is_users

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

OF_OPERATOR = (
    "_dispatch_dump",
    "_dispatch_dump_table",
    "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_has_kernel_for_any_dispatch_key",
    "_dispatch_has_computed_kernel_for_dispatch_key",
    "_dispatch_get_computed_kernel_for_dispatch_key",
)
"""Functions whose first argument names an operator."""

OF_ALL = ("_dispatch_get_registrations_for_dispatch_key",)
"""Functions about all operators."""

Function = Callable[..., Any]


@contextmanager
def queries_answered(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Answer the program's questions inside the block without our kernels."""
    library = [(torch.library, "get_kernel")] if hasattr(torch.library, "get_kernel") else []
    places = [*((torch._C, name) for name in (*OF_OPERATOR, *OF_ALL) if hasattr(torch._C, name)), *library]
    before = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, original in before:
        setattr(owner, name, _answering(original, watch, name in OF_ALL))
    try:
        yield
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)


def _answering(original: Function, watch: LiveRecorder, of_all: bool) -> Function:
    @wraps(original)
    def question(*args: Any, **kwargs: Any) -> Any:
        if not args or not is_users(sys._getframe(1).f_code):
            return original(*args, **kwargs)
        with watch.cells.out() if of_all else _without_ours(watch, args[0]):
            return original(*args, **kwargs)

    return question


def _without_ours(watch: LiveRecorder, operator: Any) -> AbstractContextManager[None]:
    """Return a context manager in which the cells of an operator, a name or an ``OpOverload``, hold their own
    kernels.
    """
    name = str(getattr(operator, "_name", operator))
    return watch.cells.without_ours([name] if watch.operators.is_defined(name) else [])
