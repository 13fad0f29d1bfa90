"""``saved_tensors_hooks``: a pair of default hooks for a block (``torch/autograd/graph.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.graph.saved_variable_hooks import pop_default_hooks
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch._C import _autograd


class saved_tensors_hooks:
    """Pack the tensors saved in a block by one hook, and unpack them by the other when they are needed.

    Raise TypeError for hooks that are not callable, RuntimeError where hooks are disabled.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _autograd._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        pairs = thread.state.saved_tensors_hooks
        try:
            _autograd._pop_saved_tensors_default_hooks()
        except BaseException:  # from outside, unless there was nothing to pop
            if pairs and thread.state.saved_tensors_hooks is pairs:
                pop_default_hooks()
            raise
