"""``argnums``: the arguments that a transform differentiates by (``torch/_functorch/eager_transforms.py``)."""

from __future__ import annotations

from typing import Any

ArgNums = int | tuple[int, ...]


def slice_argnums(args: tuple[Any, ...], argnums: ArgNums, as_tuple: bool = False) -> Any:
    """Return the arguments to differentiate by, a single one in a tuple if ``as_tuple``. Raise RuntimeError for wrong
    numbers.
    """
    wrapped = _checked(argnums, len(args))
    if isinstance(wrapped, int):
        return (args[wrapped],) if as_tuple else args[wrapped]
    return tuple(args[argnum] for argnum in wrapped)


def replace_args(old_args: tuple[Any, ...], new_args: tuple[Any, ...], argnums: ArgNums) -> tuple[Any, ...]:
    """Return the arguments with new ones at ``argnums``. Negative numbers replace none, as in PyTorch."""
    if isinstance(argnums, int):
        if len(new_args) != 1:
            raise RuntimeError(f"new_args should be of size 1, was of size {len(new_args)}")
        argnums = (argnums,)
    elif len(new_args) != len(argnums):
        raise RuntimeError(
            f"new_args should have the same size as argnums. Argnums size {len(argnums)}, new_args size {len(new_args)}"
        )
    return tuple(new_args[argnums.index(i)] if i in argnums else old for i, old in enumerate(old_args))


def _checked(argnums: Any, count: int) -> ArgNums:
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return _wrapped_argnum(argnums, count)
    wrapped = tuple(_wrapped_argnum(argnum, count) for argnum in argnums)
    if not wrapped:
        raise RuntimeError("argnums must be non-empty")
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"argnums elements must be unique, got {wrapped}")
    return wrapped


def _wrapped_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
