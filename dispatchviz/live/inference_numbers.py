"""In inference mode the tensor that PyTorch makes of a number has no keys for autograd; ours has them, since one with
the mark of a number is only had from a Node (``wrapped_numbers.py``). A call that comes to ADInplaceOrView for such a
tensor alone goes on to the key to which PyTorch's goes, untold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchviz.live.key_numbers import raw_of
from dispatchviz.live.watched_operators import WatchedCell
from dispatchviz.live.wrapped_numbers import KINDS

VIEW = "ADInplaceOrView"


class InferenceNumbers:
    """Finds such calls."""

    def __init__(self, torch: Any) -> None:
        c = torch._C
        self._is_enabled, self._schema = torch.is_inference_mode_enabled, c._dispatch_find_schema_or_throw
        self._key_set, self._raw = c._dispatch_keys, raw_of(c)
        self._view = c.DispatchKeySet(c._dispatch_key_parse(VIEW))
        self._bit = self._raw(self._view)

    def onward(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[..., Any] | None:
        """What goes on with such a call, given tensors for the numbers; None if it is none. ``args`` are its key set
        and its arguments."""
        if cell.key != VIEW or not self._is_enabled():
            return None
        tensors = (one for one in cell.operator.given(args, kwargs) if one is not None and type(one) not in KINDS)
        if any(self._raw(self._key_set(one)) & self._bit for one in tensors):
            return None
        redispatch = self._schema(*cell.name.partition(".")[::2]).redispatch_boxed
        return lambda keys, *given, **named: redispatch(keys - self._view, *given, **named)
