"""Guards: they change the thread-local include and exclude sets for a while and write the saved sets back on exit.

This module mirrors ``c10/core/impl/LocalDispatchKeySet.h`` and ``aten/src/ATen/core/LegacyTypeDispatch.h``. Other
changes to a guarded set inside are lost at exit, as in PyTorch. Grad mode and inference mode are here too: grad mode
changes no key, inference mode does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar

from dispatchviz.core.keys.key_set import (
    autograd_dispatch_keyset,
    autograd_dispatch_keyset_with_ADInplaceOrView,
    inplace_or_view_ks,
    remove,
)
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.thread.restoring_state import restores_state_at_exit
from dispatchviz.core.thread.thread_state import SavedState, State, thread

K = DispatchKey

_BACKENDS = 0xFFFF


class _Guard:
    """The base class. ``_change`` returns the sets for the block, ``_restore`` writes back the saved ones."""

    __slots__ = ("_saved",)

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        raise NotImplementedError

    def __enter__(self) -> None:
        state = thread.state
        self._saved = (state.included, state.excluded)
        try:
            state.included, state.excluded = self._change(*self._saved)
            if recorder.active is not None:
                recorder.active.guard_entered(type(self).__name__, *self._saved)
        except BaseException:
            state.included, state.excluded = self._saved
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore(thread.state, *self._saved)
        if recorder.active is not None:
            recorder.active.guard_left(type(self).__name__)

    def _restore(self, state: State, included: int, excluded: int) -> None:
        state.included, state.excluded = included, excluded


class ExcludeDispatchKeyGuard(_Guard):
    """A guard that adds the keys of a raw set to the exclude set."""

    __slots__ = ("keys",)

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded | self.keys

    def _restore(self, state: State, included: int, excluded: int) -> None:
        state.excluded = excluded


class IncludeDispatchKeyGuard(_Guard):
    """A guard that adds the keys of a raw set to the include set."""

    __slots__ = ("keys",)

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        return included | self.keys, excluded

    def _restore(self, state: State, included: int, excluded: int) -> None:
        state.included = included


class ForceDispatchKeyGuard(_Guard):
    """A guard that replaces the include and exclude sets. Without new sets it only restores the old ones at its end."""

    __slots__ = ("excluded", "included")

    def __init__(self, included: int | None = None, excluded: int | None = None) -> None:
        self.included = included
        self.excluded = excluded

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        return (
            included if self.included is None else self.included,
            excluded if self.excluded is None else self.excluded,
        )


class AutoDispatchSkipFunctionalize(ExcludeDispatchKeyGuard):
    """A guard around code that functionalization must not see."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(KEY_BITS[K.Functionalize])


class DisableFuncTorch(ExcludeDispatchKeyGuard):
    """A guard around code that no functorch transform must see (``torch/csrc/utils/init.cpp``)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(KEY_BITS[K.FuncTorchDynamicLayerFrontMode] | KEY_BITS[K.FuncTorchDynamicLayerBackMode])


def _with_key(keys: int, key: DispatchKey, present: bool) -> int:
    return keys | KEY_BITS[key] if present else remove(keys, key)


def set_dispatch_key_included(key: DispatchKey, included: bool) -> None:
    """Add a key to the include set or remove it (``tls_set_dispatch_key_included``). This is not a guard: the set is
    not restored.

    A key is not added if all of its bits are set, and not removed unless they all are. Removing a key of a backend
    leaves the backend's bit behind.
    """
    if _has(thread.state.included, key) != included:
        thread.state.included = _with_key(thread.state.included, key, included)


def set_dispatch_key_excluded(key: DispatchKey, excluded: bool) -> None:
    """Add a key to the exclude set or remove it, as ``set_dispatch_key_included`` does
    (``tls_set_dispatch_key_excluded``).
    """
    if _has(thread.state.excluded, key) != excluded:
        thread.state.excluded = _with_key(thread.state.excluded, key, excluded)


def set_meta_in_tls_dispatch_include(included: bool) -> None:
    """Add Meta to the include set or remove it. Removing clears the backend's bit and leaves Dense behind."""
    meta = KEY_BITS[K.Meta]
    state = thread.state
    state.included = state.included | meta if included else state.included & ~(meta & _BACKENDS)


def _has(keys: int, key: DispatchKey) -> bool:
    return keys & KEY_BITS[key] == KEY_BITS[key]


class ExcludeFixed:
    """A guard that always excludes the same keys. The kernel of every differentiable operator runs within one.

    Its keys are constants of the methods, which ``_excludes`` makes, so they are not looked up. If the block has
    nothing but a redispatch, ``guarded_redispatch.py`` replaces the guard.
    """

    __slots__ = ("_excluded", "_state")

    keys: ClassVar[int]
    _excluded: int
    _state: State

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._state.excluded = self._excluded


def _excludes(guard: type[ExcludeFixed], keys: int) -> None:
    """Set the keys and the methods of a guard, and the methods that replace them while a recorder is active."""
    name, guard.keys = guard.__name__, keys

    def enter(self: ExcludeFixed) -> None:
        state = self._state = thread.state
        saved = self._excluded = state.excluded
        state.excluded = saved | keys

    def recorded_enter(self: ExcludeFixed) -> None:
        state = self._state = thread.state
        saved = self._excluded = state.excluded
        rec = recorder.active
        if rec is not None:
            if rec.finds_callers:
                rec.find_caller()
            rec.note(("guard_excludes", name, state.included, saved, saved | keys))
        state.excluded = saved | keys

    def recorded_exit(self: ExcludeFixed, kind: object, error: object, at: object) -> None:
        state = self._state
        excluded = state.excluded = self._excluded
        rec = recorder.active
        if rec is not None:
            rec.note(("guard_left", name, state.included, excluded))

    process_modes.hot_function(guard, "__enter__", {NO_MODE: enter, Mode.RECORDING: recorded_enter})
    process_modes.hot_function(guard, "__exit__", {NO_MODE: ExcludeFixed.__exit__, Mode.RECORDING: recorded_exit})


class AutoDispatchBelowAutograd(ExcludeFixed):
    """The guard around the redispatch of in-place, view and out= kernels: ADInplaceOrView still runs."""

    __slots__ = ()


class AutoDispatchBelowADInplaceOrView(ExcludeFixed):
    """The guard around the redispatch of ordinary kernels, and around a whole factory binding."""

    __slots__ = ()


_excludes(AutoDispatchBelowAutograd, autograd_dispatch_keyset)
_excludes(AutoDispatchBelowADInplaceOrView, autograd_dispatch_keyset_with_ADInplaceOrView)


class AutoGradMode:
    """A guard that sets grad mode. It changes no key: autograd kernels still run."""

    __slots__ = ("_saved", "enabled", "why")

    def __init__(self, enabled: bool, why: str = "AutoGradMode") -> None:
        self.enabled = enabled
        self.why = why

    def __enter__(self) -> None:
        state = thread.state
        saved = self._saved = state.grad_mode
        try:
            set_grad_mode(self.enabled, self.why)
        except BaseException:
            state.grad_mode = saved
            raise

    def __exit__(self, *_: object) -> None:
        set_grad_mode(self._saved, f"leaving {self.why}")


class AutoFwGradMode:
    """A guard that sets whether this thread sees tangents."""

    __slots__ = ("_saved", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self._saved = thread.state.fw_grad_mode
        thread.state.fw_grad_mode = self.enabled

    def __exit__(self, *_: object) -> None:
        thread.state.fw_grad_mode = self._saved


def set_grad_mode(enabled: bool, why: str) -> None:
    """Set grad mode of this thread."""
    changed = thread.state.grad_mode != enabled
    thread.state.grad_mode = enabled
    if changed and recorder.active is not None:
        recorder.active.grad_mode_changed(enabled, why)


@restores_state_at_exit
class InferenceMode(_Guard):
    """A guard: ``InferenceMode(True)`` excludes the autograd keys and disables grad mode, ``InferenceMode(False)`` does
    the opposite.
    """

    __slots__ = ("_saved_fw_grad_mode", "_saved_modes", "_saved_state", "enabled")

    _saved_state: SavedState

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled

    def _change(self, included: int, excluded: int) -> tuple[int, int]:
        if self.enabled:
            return included & ~(inplace_or_view_ks & ~_BACKENDS), excluded | autograd_dispatch_keyset
        return included | inplace_or_view_ks, excluded & ~(autograd_dispatch_keyset & ~_BACKENDS)

    def __enter__(self) -> None:
        self._saved_modes = (thread.state.grad_mode, thread.state.inference_mode)
        self._saved_fw_grad_mode = thread.state.fw_grad_mode
        super().__enter__()
        thread.state.fw_grad_mode = not self.enabled
        self._set(not self.enabled, self.enabled, "inference mode" if self.enabled else "inference mode off")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._set(*self._saved_modes, "leaving inference mode")
        thread.state.fw_grad_mode = self._saved_fw_grad_mode
        super().__exit__(kind, error, at)

    def _set(self, grad_mode: bool, inference_mode: bool, why: str) -> None:
        changed = thread.state.inference_mode != inference_mode
        thread.state.inference_mode = inference_mode
        if changed and recorder.active is not None:
            recorder.active.inference_mode_changed(inference_mode)
        set_grad_mode(grad_mode, why)


# -- __torch_function__ ------------------------------------------------------------------------------------------------

ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED = range(3)
"""The members of ``at::impl::TorchFunctionDisabledState``."""


@contextmanager
def torch_function_disabled(how: int) -> Iterator[None]:
    """Disable ``__torch_function__`` of subclasses, or that of modes too, in the block (``DisableTorchFunction``)."""
    state = thread.state
    before = state.torch_function
    state.torch_function = max(before, how)
    try:
        yield
    finally:
        state.torch_function = before
