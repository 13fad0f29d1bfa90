"""Calls with wrapped numbers in inference mode.

There PyTorch makes the tensor of a number without autograd keys. Ours has them, because only a Node can hand out a
tensor that is marked as a wrapped number (``wrapped_numbers.py``). A call that reaches ADInplaceOrView only because of
our tensor continues at the key that PyTorch would have chosen, and is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchviz.live.key_numbers import raw_of
from dispatchviz.live.watched_operators import WatchedCell
from dispatchviz.live.wrapped_numbers import KINDS

VIEW = "ADInplaceOrView"


class InferenceNumbers:
    """The test that finds these calls, and their continuation."""

    def __init__(self, torch: Any) -> None:
        c = torch._C
        self._is_enabled, self._schema = torch.is_inference_mode_enabled, c._dispatch_find_schema_or_throw
        self._key_set, self._raw = c._dispatch_keys, raw_of(c)
        self._view = c.DispatchKeySet(c._dispatch_key_parse(VIEW))
        self._bit = self._raw(self._view)

    def onward(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[..., Any] | None:
        """Return a function that continues a call that only our tensor brought to ADInplaceOrView; return None for any
        other call.

        ``args`` are the key set and the arguments. The function takes tensors in place of the numbers.
        """
        if cell.key != VIEW or not self._is_enabled():
            return None
        tensors = (one for one in cell.operator.given(args, kwargs) if one is not None and type(one) not in KINDS)
        if any(self._raw(self._key_set(one)) & self._bit for one in tensors):
            return None
        redispatch = self._schema(*cell.name.partition(".")[::2]).redispatch_boxed
        return lambda keys, *given, **named: redispatch(keys - self._view, *given, **named)
