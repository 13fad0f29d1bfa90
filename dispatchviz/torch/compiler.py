"""``torch.compiler``: the model never compiles (``torch/compiler/__init__.py``).

NB: decorators that instruct a compiler change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchviz.torch.global_flags import compile as compile  # noqa: A004  its name in PyTorch

_T = TypeVar("_T")

_default_backend: Any = "inductor"


def is_compiling() -> bool:
    """Return False."""
    return False


def is_dynamo_compiling() -> bool:
    """Return False."""
    return False


def is_exporting() -> bool:
    """Return False."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function unchanged; without a function, return a decorator that does."""
    return _unchanged if fn is None else fn


def _unchanged(fn: _T) -> _T:
    return fn


def allow_in_graph(fn: _T) -> _T:
    """Return the argument. Raise AssertionError unless it is callable."""
    if not (callable(fn) or isinstance(fn, (list, tuple))):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: _T) -> _T:
    """Return the argument."""
    return fn


def reset() -> None:
    """Do nothing: there is no compiled code to forget."""


def cudagraph_mark_step_begin() -> None:
    """Mark the beginning of a CUDA graph iteration, which has no effect."""


class set_stance:
    """A setting for compiled code, for a block or a function. It has no effect, since nothing is compiled."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn


def set_default_backend(backend: Any) -> None:
    """Set the backend that ``torch.compile`` would use; None means ``inductor``."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """Return the backend that ``torch.compile`` would use, ``inductor`` by default."""
    return _default_backend
