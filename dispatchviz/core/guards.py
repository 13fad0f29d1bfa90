"""Guards: they change the thread's key sets for a while and write the saved sets back on exit.

Mirrors ``c10/core/impl/LocalDispatchKeySet.h`` and ``aten/src/ATen/core/LegacyTypeDispatch.h``. Changes made to a
guarded set inside are lost at exit, as in PyTorch. Grad mode and inference mode are here too: grad mode changes no
key, inference mode does.
"""

from __future__ import annotations

from types import TracebackType

from dispatchviz.core import recorder
from dispatchviz.core.keyset import (
    autograd_dispatch_keyset,
    autograd_dispatch_keyset_with_ADInplaceOrView,
    inplace_or_view_ks,
)
from dispatchviz.core.thread_state import State, thread

_BACKENDS = 0xFFFF


class _Guard:
    """Base: ``_change`` says what becomes of the sets."""

    __slots__ = ("_saved",)

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._saved = (thread.state.included, thread.state.excluded)
        thread.state.included, thread.state.excluded = self._change(*self._saved)
        if recorder.active is not None:
            recorder.active.guard_entered(type(self).__name__, *self._saved)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        thread.state.included, thread.state.excluded = self._saved
        if recorder.active is not None:
            recorder.active.guard_left(type(self).__name__)


class ExcludeDispatchKeyGuard(_Guard):
    """Keeps the keys of a raw set out of every dispatch below."""

    __slots__ = ("keys",)

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded | self.keys


class _ExcludeFixed:
    """A guard that always excludes the same keys; written out flat, since every autograd kernel passes through it."""

    __slots__ = ("_excluded", "_state")
    keys = 0
    name = ""

    _excluded: int
    _state: State

    def __enter__(self) -> None:
        state = self._state = thread.state
        saved = self._excluded = state.excluded
        excluded = state.excluded = saved | self.keys
        rec = recorder.active
        if rec is not None:
            included = state.included
            rec.note(("guard_entered", self.name, included, included, saved, excluded))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        state = self._state
        state.excluded = self._excluded
        rec = recorder.active
        if rec is not None:
            rec.note(("guard_left", self.name, state.included, state.excluded))


class AutoDispatchBelowAutograd(_ExcludeFixed):
    """Around the redispatch of in-place, view and out= kernels: ADInplaceOrView still runs."""

    __slots__ = ()
    keys = autograd_dispatch_keyset
    name = "AutoDispatchBelowAutograd"


class AutoDispatchBelowADInplaceOrView(_ExcludeFixed):
    """Around the redispatch of ordinary kernels, and around a whole factory binding."""

    __slots__ = ()
    keys = autograd_dispatch_keyset_with_ADInplaceOrView
    name = "AutoDispatchBelowADInplaceOrView"


class AutoGradMode:
    """Switches grad mode; not a dispatch change: autograd kernels still run."""

    __slots__ = ("_saved", "enabled", "why")

    def __init__(self, enabled: bool, why: str = "AutoGradMode") -> None:
        self.enabled = enabled
        self.why = why

    def __enter__(self) -> None:
        self._saved = thread.state.grad_mode
        set_grad_mode(self.enabled, self.why)

    def __exit__(self, *_: object) -> None:
        set_grad_mode(self._saved, f"leaving {self.why}")


def set_grad_mode(enabled: bool, why: str) -> None:
    """Sets grad mode of this thread."""
    changed = thread.state.grad_mode != enabled
    thread.state.grad_mode = enabled
    if changed and recorder.active is not None:
        recorder.active.grad_mode_changed(enabled, why)


class InferenceMode(_Guard):
    """``InferenceMode(True)`` takes the autograd keys out and grad mode off; ``InferenceMode(False)`` the opposite."""

    __slots__ = ("_saved_modes", "enabled")

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        if self.enabled:
            return included & ~(inplace_or_view_ks & ~_BACKENDS), excluded | autograd_dispatch_keyset
        return included | inplace_or_view_ks, excluded & ~(autograd_dispatch_keyset & ~_BACKENDS)

    def __enter__(self) -> None:
        self._saved_modes = (thread.state.grad_mode, thread.state.inference_mode)
        super().__enter__()
        self._set(not self.enabled, self.enabled, "inference mode" if self.enabled else "inference mode off")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._set(*self._saved_modes, "leaving inference mode")
        super().__exit__(kind, error, at)

    def _set(self, grad_mode: bool, inference_mode: bool, why: str) -> None:
        changed = thread.state.inference_mode != inference_mode
        thread.state.inference_mode = inference_mode
        if changed and recorder.active is not None:
            recorder.active.inference_mode_changed(inference_mode)
        set_grad_mode(grad_mode, why)
