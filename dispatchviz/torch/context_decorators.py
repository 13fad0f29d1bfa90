"""Context managers that also decorate functions (``torch/utils/_contextlib.py``).

Unlike with ``contextlib.ContextDecorator``, each call enters a context of its own. The body of a generator runs inside
the context between any two yields; its caller never does.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

_CLASSES = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
    "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
    "and nothing else."
)


class DecoratorContextManager:
    """Base class of context managers that are also decorators."""

    def __call__(self, function: Any) -> Any:
        """Return the function within a new context for each call. Issue a FutureWarning for a class."""
        if inspect.isclass(function):
            warnings.warn(_CLASSES, FutureWarning, stacklevel=2)
            return _wrapped(self.clone, lambda *args, **kwargs: function(*args, **kwargs))
        if inspect.isgeneratorfunction(function):
            return _wrapped_generator(self.clone, function)
        return _wrapped(self.clone, function)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a new context manager with the same settings."""
        return type(self)()


class NoParamDecoratorContextManager(DecoratorContextManager):
    """Base class of decorators that may also be used without parentheses."""

    def __new__(cls, function: Any = None) -> Any:
        """Return the context manager, or the decorated function."""
        return super().__new__(cls) if function is None else cls()(function)


def _wrapped(context: Callable[[], Any], function: Any) -> Any:
    @wraps(function)
    def decorate_context(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return decorate_context


def _wrapped_generator(context: Callable[[], Any], function: Any) -> Any:
    @wraps(function)
    def generator_context(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        resume, given = generator.send, None
        while True:
            try:
                with context():
                    response = resume(given)
            except StopIteration as end:
                return end.value
            try:
                resume, given = generator.send, (yield response)
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:
                resume, given = generator.throw, error

    return generator_context
