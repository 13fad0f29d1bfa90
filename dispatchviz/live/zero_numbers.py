"""The tangents of Python numbers in formulas of forward mode.

In ``d * 2`` the tangent of 2 is a zero tensor that PyTorch marks as a wrapped number (``update_wrapped_number`` in
``torch/csrc/autograd/FunctionsManual.cpp``). So a Python kernel receives it as the number 0, without its ZeroTensor
key, and the original kernel must receive the tensor itself. The recorder has seen that tensor, because
``_efficientzerotensor`` returned it before it was marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

from dispatchviz.live.wrapped_numbers import KINDS

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_cells import Step
    from dispatchviz.live.watched_operators import WatchedCell

MAKING_ZEROS = "aten::_efficientzerotensor"
KEY = "ZeroTensor"


class ZeroNumbers:
    """The zero tensors that may be tangents of numbers, and the test that finds them among arguments."""

    def __init__(self, watch: LiveRecorder) -> None:
        torch = watch.torch
        self._watch, self._raw, self._key_set = watch, watch._raw, torch._C._dispatch_keys
        self.bit: int = self._raw(torch._C.DispatchKeySet(torch._C._dispatch_key_parse(KEY)))
        """The ZeroTensor key as a raw key set."""
        self._dtypes = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}

    def keeping(self, call: Step) -> Step:
        """Wrap a kernel of ``_efficientzerotensor`` so that the thread knows the newest tensor without dimensions."""

        def keeps(*args: Any, **kwargs: Any) -> Any:
            made = call(*args, **kwargs)
            size, _, dtype, *_ = self._watch.facts.of(made)
            if not size and not self._is_result():
                self._watch.thread.zeros[dtype] = ref(made)
            return made

        return keeps

    def _is_result(self) -> bool:
        """Return whether a kernel for zero tensors makes the tensor, as its result."""
        inside = self._watch.thread.inside
        return inside is not None and inside[2] is not None and inside[2][0].key == KEY

    def among(
        self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], wrapped: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        """Return a function that makes tensors of the numbers in a call whose key set, the first argument, has the
        ZeroTensor key.

        A number is a zero tensor if no other argument explains the ZeroTensor key: formulas never pass two of them.
        """
        others = [one for one in cell.operator.given(args, kwargs) if one is not None and type(one) not in KINDS]
        if any(self._raw(self._key_set(one)) & self.bit for one in others):
            return wrapped
        zeros = self._watch.thread.zeros

        def made(number: Any) -> Any:
            newest = None if number else zeros.get(self._dtypes.get(type(number)))
            found = None if newest is None else newest()
            return wrapped(number) if found is None else found

        return made
