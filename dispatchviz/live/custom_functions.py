"""The tensors that custom Functions save.

The context of a custom Function is its Node. The recorder notes tensors when they are saved, because reading them later
may run hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.begun_keys import Replaced
    from dispatchviz.live.live_recorder import LiveRecorder

_NAME = "save_for_backward"


@contextmanager
def saving_followed(watch: LiveRecorder, replaced: Replaced) -> Iterator[None]:
    """Note inside the block the tensors that custom Functions save. Append the replaced functions to ``replaced``."""
    context = watch.torch.autograd.function.FunctionCtx
    original = vars(context)[_NAME]
    ours = _saving(watch, original)
    replaced.append((context, _NAME, original, ours))
    setattr(context, _NAME, ours)
    try:
        yield
    finally:
        setattr(context, _NAME, original)


def _saving(watch: LiveRecorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def save_for_backward(self: Any, *tensors: Any) -> Any:
        if recorder.listening is watch and watch.thread.watched and isinstance(self, watch.torch._C._FunctionBase):
            watch.guarded(lambda: watch.nodes.saves(self, tensors))
        return original(self, *tensors)

    return save_for_backward
