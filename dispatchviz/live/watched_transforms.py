"""Transforms of ``torch.func``: their keys are watched from the first one on, since most programs have none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dispatchviz.live.watched_cells import FUNCTIONALIZE, FUNCTORCH

if TYPE_CHECKING:
    from dispatchviz.live.watched_cells import WatchedCells

BEGIN = {
    "_vmap_increment_nesting": FUNCTORCH,
    "_grad_increment_nesting": FUNCTORCH,
    "_jvp_increment_nesting": FUNCTORCH,
    "_func_increment_nesting": FUNCTORCH | FUNCTIONALIZE,
}
"""Functions that begin a transform, and the keys that are then needed."""


Replaced = list[tuple[Any, str, Any, Any]]
"""Module, function, the original and ours."""


@contextmanager
def transforms_followed(cells: WatchedCells) -> Iterator[Replaced]:
    """Inside the block; yields what is replaced there."""
    replaced: Replaced = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("torch._functorch", "torch._C._functorch")):
            for function, keys in BEGIN.items():
                if callable(original := vars(module).get(function)):
                    replaced.append((module, function, original, _that_needs(cells, keys, original)))
    _set(replaced, 3)
    try:
        yield replaced
    finally:
        _set(replaced, 2)


@contextmanager
def originals_again(replaced: Replaced) -> Iterator[None]:
    """Inside the block nothing is replaced."""
    _set(replaced, 2)
    try:
        yield
    finally:
        _set(replaced, 3)


def _set(replaced: Replaced, which: int) -> None:
    for one in replaced:
        setattr(one[0], one[1], one[which])


def _that_needs(cells: WatchedCells, keys: int, original: Callable[..., Any]) -> Callable[..., Any]:
    def begin(*args: Any, **kwargs: Any) -> Any:
        cells.meet(keys)
        return original(*args, **kwargs)

    return begin
