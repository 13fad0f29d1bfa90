"""Guards that the machine itself uses: which sets they change, and which of them they write back."""

from __future__ import annotations

import pytest

from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set, raw
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.thread import guards
from dispatchviz.core.thread.thread_state import thread

K = DispatchKey
CUDA = KEY_BITS[K.CUDA]


def sets() -> tuple[int, int]:
    return thread.state.included, thread.state.excluded


DEFAULT = (default_included_set, default_excluded_set)


def test_functionalization_can_be_left_out() -> None:
    with guards.AutoDispatchSkipFunctionalize():
        assert sets() == (default_included_set, default_excluded_set | KEY_BITS[K.Functionalize])
    assert sets() == DEFAULT


def test_force_sets_both() -> None:
    with guards.ForceDispatchKeyGuard(1, 2):
        assert sets() == (1, 2)
        thread.state.included = 3
    assert sets() == DEFAULT


def test_force_without_sets_only_writes_back() -> None:
    with guards.ForceDispatchKeyGuard():
        assert sets() == DEFAULT
        thread.state.included, thread.state.excluded = 3, 4
    assert sets() == DEFAULT


@pytest.mark.parametrize("error", [False, True])
def test_include_and_exclude_write_back_their_own_set_alone(error: bool) -> None:
    """What is done to the other set inside stays, in PyTorch too."""
    with guards.ForceDispatchKeyGuard():
        try:
            with guards.IncludeDispatchKeyGuard(CUDA):
                assert sets() == (default_included_set | CUDA, default_excluded_set)
                guards.set_dispatch_key_included(K.Python, True)
                guards.set_dispatch_key_excluded(K.Tracer, True)
                if error:
                    raise ValueError
        except ValueError:
            pass
        assert sets() == (default_included_set, default_excluded_set | KEY_BITS[K.Tracer])
        with guards.ExcludeDispatchKeyGuard(CUDA):
            guards.set_dispatch_key_included(K.Python, True)
            guards.set_dispatch_key_excluded(K.Tracer, False)
        assert sets() == (default_included_set | KEY_BITS[K.Python], default_excluded_set | KEY_BITS[K.Tracer])
    assert sets() == DEFAULT


def test_setters_are_no_guards() -> None:
    with guards.ForceDispatchKeyGuard(0, 0):
        guards.set_dispatch_key_included(K.CUDA, True)
        guards.set_dispatch_key_included(K.CUDA, False)
        assert thread.state.included == 2  # the backend's bit stays
        guards.set_meta_in_tls_dispatch_include(True)
        guards.set_meta_in_tls_dispatch_include(False)
        assert thread.state.included == raw(K.Dense) | 2  # the backend's bit goes, the functionality stays
