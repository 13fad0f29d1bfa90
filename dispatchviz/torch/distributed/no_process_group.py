"""Functions that fail without a process group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def needs_a_group(name: str) -> Callable[..., NoReturn]:
    """A function that fails as it does where no process group was made."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "ValueError: there is no process group."
    return function
