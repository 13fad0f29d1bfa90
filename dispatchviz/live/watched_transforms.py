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


@contextmanager
def transforms_followed(cells: WatchedCells) -> Iterator[None]:
    """Inside the block."""
    replaced: list[tuple[Any, str, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("torch._functorch", "torch._C._functorch")):
            for function, keys in BEGIN.items():
                if callable(original := vars(module).get(function)):
                    replaced.append((module, function, original))
                    setattr(module, function, _that_needs(cells, keys, original))
    try:
        yield
    finally:
        for module, function, original in replaced:
            setattr(module, function, original)


def _that_needs(cells: WatchedCells, keys: int, original: Callable[..., Any]) -> Callable[..., Any]:
    def begin(*args: Any, **kwargs: Any) -> Any:
        cells.meet(keys)
        return original(*args, **kwargs)

    return begin
