"""Tensors that begin to retain their gradient. Each then has a C++ hook on its Node.

The run of that hook is not recorded, only its calls are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder


@contextmanager
def retaining_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Record calls of ``Tensor.retain_grad`` inside the block."""
    torch.Tensor.retain_grad = _RetainGrad(watch)
    try:
        yield
    finally:
        del torch.Tensor.retain_grad  # the base class has the original


def record_newly_retained(watch: LiveRecorder, tensors: Iterable[Any]) -> None:
    """Record the tensors that retain their gradient because a backward for these ``inputs`` begins
    (``THPEngine_run_backward``). Leaves and tensors that already retain it are left out.
    """
    known = set[int]()
    for tensor in tensors:
        if isinstance(tensor, watch.torch.Tensor) and id(tensor) not in known and not is_retained(watch, tensor):
            known.add(id(tensor))
            _retains(watch, tensor)


def is_retained(watch: LiveRecorder, tensor: Any) -> bool:
    """Return whether a tensor retains its gradient."""
    c = watch.torch._C
    with c.DisableTorchFunction():
        return bool(c.TensorBase.retains_grad.__get__(tensor))


def _retains(watch: LiveRecorder, tensor: Any) -> None:
    """Emit the event that a tensor retains its gradient. PyTorch reads its ``grad_fn`` at this point too."""
    with watch.torch._C.DisableTorchFunction():
        node = tensor.grad_fn
        if node is None:
            return
        keeper, output_nr = watch.nodes.known(node) - watch.first_node, tensor.output_nr
    fields = "retain_grad", None, keeper, watch._tensor(tensor), output_nr, False
    watch._emit(ev.HookRegistered, "retains-grad hook", *fields)


def move_retained_hook(watch: LiveRecorder, tensor: Any, node: int) -> None:
    """Emit the event that the retain_grad hook of a tensor, if there is one, moves to the tensor's new Node."""
    if is_retained(watch, tensor):
        fields = "retain_grad", None, node, watch._tensor(tensor), tensor.output_nr, True
        watch._emit(ev.HookRegistered, "retains-grad hook", *fields)


class _RetainGrad:
    """A descriptor for ``retain_grad`` that records calls on a tensor. Read from the class, it is PyTorch's own method,
    which ``__torch_function__`` receives.
    """

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._original = watch.torch._C.TensorBase.retain_grad

    def __get__(self, tensor: Any, owner: Any = None) -> Callable[..., Any]:
        watch = self._watch
        original: Callable[..., Any] = self._original.__get__(tensor, owner)
        if tensor is None or recorder.listening is not watch or not watch.thread.watched:
            return original

        @wraps(original)
        def retain_grad(*args: Any, **kwargs: Any) -> Any:
            before = watch.guarded(lambda: is_retained(watch, tensor))
            result = self._original(tensor, *args, **kwargs)  # names the class in its errors as a call of a method does
            if before is False:
                watch.guarded(lambda: self._record(tensor))
            return result

        return retain_grad

    def _record(self, tensor: Any) -> None:
        if is_retained(self._watch, tensor):
            self._watch.line_calls(1)
            _retains(self._watch, tensor)
