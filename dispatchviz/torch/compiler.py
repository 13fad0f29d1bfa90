"""``torch.compiler``: nothing is ever being compiled (``torch/compiler/__init__.py``).

NB: what decorators say to a compiler changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchviz.torch.global_flags import compile as compile  # noqa: A004  its name in PyTorch

_T = TypeVar("_T")

_default_backend: Any = "inductor"


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function, or without one a decorator that gives the function."""
    return _unchanged if fn is None else fn


def _unchanged(fn: _T) -> _T:
    return fn


def allow_in_graph(fn: _T) -> _T:
    """The argument. AssertionError unless that can be called."""
    if not (callable(fn) or isinstance(fn, (list, tuple))):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: _T) -> _T:
    """The argument."""
    return fn


def reset() -> None:
    """Forget what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins."""


class set_stance:
    """What to do about compiled code, from now on, for a block or in a function: there is none."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn


def set_default_backend(backend: Any) -> None:
    """The backend that ``torch.compile`` would use; None: ``inductor``."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """``inductor`` by default."""
    return _default_backend
