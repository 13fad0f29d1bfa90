"""Formatting of tensors as text: the operators that it calls are inside an event that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder


@contextmanager
def formatting_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Record inside the block when a tensor is formatted. ``Tensor.__repr__`` calls ``_tensor_str._str``."""
    text, tensor = torch._tensor_str, torch.Tensor
    to_text, to_format = text._str, tensor.__format__
    text._str = _recorded(watch, "Tensor.__repr__", to_text)
    tensor.__format__ = _recorded(watch, "Tensor.__format__", to_format)
    try:
        yield
    finally:
        text._str, tensor.__format__ = to_text, to_format


def _recorded(watch: LiveRecorder, name: ev.FormattingMethod, original: Callable[..., str]) -> Callable[..., str]:
    has_torch_function = watch.torch.overrides.has_torch_function_unary

    @wraps(original)
    def formatted(self: Any, *args: Any, **kwargs: Any) -> str:
        if recorder.listening is not watch or not watch.thread.watched or has_torch_function(self):
            return original(self, *args, **kwargs)
        watch.line_calls(2)
        watch._emit_span(ev.TensorFormatted, watch._tensor(self), name)
        try:
            return original(self, *args, **kwargs)
        finally:
            if recorder.listening is watch:
                watch.leave()

    return formatted
