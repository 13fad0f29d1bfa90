"""``functools.cached_property`` without a lock, as Python 3.12 and later have it.

Python 3.11 holds a lock, one for all objects, while it computes a value. A signal handler that runs meanwhile waits for
the thread that writes the trace, and that thread may need the same property of another object: both would wait forever.
"""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class cached_property(functools.cached_property[T_co]):  # named as the one that it replaces
    """A property that is computed once for each object. Two threads may both compute it; the first value is kept."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T_co: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """Return the value, from the object's namespace if it is there."""
        if instance is None:
            return self
        known, name = vars(instance), str(self.attrname)
        return known[name] if name in known else known.setdefault(name, self.func(instance))
