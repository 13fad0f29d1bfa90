"""Calls of modules. Everything that a module runs is inside an event that names the module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder


@contextmanager
def modules_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Record each call of a module inside the block: ``torch.nn.Module.__call__``."""
    module = torch.nn.Module
    original = module.__call__
    module.__call__ = _recorded(watch, original)
    try:
        yield
    finally:
        module.__call__ = original


def _recorded(watch: LiveRecorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.listening is not watch or not watch.thread.watched:
            if watch.looking is None or not watch.looking.opens_for(self):
                return original(self, *args, **kwargs)
            try:
                return called(self, *args, **kwargs)
            finally:
                watch.looking.close(self)
        failed = True
        watch.module_called(self)
        try:
            result = original(self, *args, **kwargs)
            failed = False
            return result
        finally:
            if recorder.listening is watch:
                watch.module_left(failed)

    return called
