"""Tensors that begin to retain their gradient: each has from then on a hook, which is C++, on its Node.

That such a hook runs is not told: what it calls is seen.
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
    """Inside the block ``Tensor.retain_grad`` tells."""
    torch.Tensor.retain_grad = _RetainGrad(watch)
    try:
        yield
    finally:
        del torch.Tensor.retain_grad  # the base class has the original


def retained_from_now_on(watch: LiveRecorder, tensors: Iterable[Any]) -> None:
    """Tells of those that do not retain their gradient yet and are no leaves: a backward for these ``inputs`` begins
    (``THPEngine_run_backward``)."""
    known = set[int]()
    for tensor in tensors:
        if isinstance(tensor, watch.torch.Tensor) and id(tensor) not in known and not is_retained(watch, tensor):
            known.add(id(tensor))
            _retains(watch, tensor)


def is_retained(watch: LiveRecorder, tensor: Any) -> bool:
    """Return whether a tensor has such a hook."""
    c = watch.torch._C
    with c.DisableTorchFunction():
        return bool(c.TensorBase.retains_grad.__get__(tensor))


def _retains(watch: LiveRecorder, tensor: Any) -> None:
    """PyTorch has asked for ``grad_fn``, or is about to."""
    with watch.torch._C.DisableTorchFunction():
        node = tensor.grad_fn
        if node is None:
            return
        keeper, output_nr = watch.nodes.known(node) - watch.first_node, tensor.output_nr
    fields = "retain_grad", None, keeper, watch._tensor(tensor), output_nr, False
    watch._emit(ev.HookRegistered, "retains-grad hook", *fields)


def goes_along(watch: LiveRecorder, tensor: Any, node: int) -> None:
    """A tensor has got another Node, with this number: so has the hook, if there is one."""
    if is_retained(watch, tensor):
        fields = "retain_grad", None, node, watch._tensor(tensor), tensor.output_nr, True
        watch._emit(ev.HookRegistered, "retains-grad hook", *fields)


class _RetainGrad:
    """``retain_grad`` of a tensor tells; of the class it is PyTorch's, which ``__torch_function__`` gets."""

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
                watch.guarded(lambda: self._told(tensor))
            return result

        return retain_grad

    def _told(self, tensor: Any) -> None:
        if is_retained(self._watch, tensor):
            self._watch.arrives(1)
            _retains(self._watch, tensor)
