"""Guards that the machine itself uses: the sets that they change, and guards fused with a redispatch."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import CodeType

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.call import guard_fusion
from dispatchviz.core.generated import inplace_or_view, variable_type
from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set, raw
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.thread import guards
from dispatchviz.core.thread.thread_state import thread

K = DispatchKey
CUDA = KEY_BITS[K.CUDA]


def sets() -> tuple[int, int]:
    return thread.state.included, thread.state.excluded


DEFAULT = (default_included_set, default_excluded_set)


def test_guard_excludes_functionalization() -> None:
    with guards.AutoDispatchSkipFunctionalize():
        assert sets() == (default_included_set, default_excluded_set | KEY_BITS[K.Functionalize])
    assert sets() == DEFAULT


def test_force_guard_sets_both_key_sets() -> None:
    with guards.ForceDispatchKeyGuard(1, 2):
        assert sets() == (1, 2)
        thread.state.included = 3
    assert sets() == DEFAULT


def test_force_guard_without_sets_only_restores() -> None:
    with guards.ForceDispatchKeyGuard():
        assert sets() == DEFAULT
        thread.state.included, thread.state.excluded = 3, 4
    assert sets() == DEFAULT


@pytest.mark.parametrize("error", [False, True])
def test_include_and_exclude_guards_restore_only_their_own_set(error: bool) -> None:
    """A change to the other set inside stays, in PyTorch too."""
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


def test_setters_do_not_restore_the_sets() -> None:
    with guards.ForceDispatchKeyGuard(0, 0):
        guards.set_dispatch_key_included(K.CUDA, True)
        guards.set_dispatch_key_included(K.CUDA, False)
        assert thread.state.included == 2  # the backend's bit stays
        guards.set_meta_in_tls_dispatch_include(True)
        guards.set_meta_in_tls_dispatch_include(False)
        assert thread.state.included == raw(K.Dense) | 2  # the backend's bit goes, the functionality stays


KERNELS = [kernel for module in (variable_type, inplace_or_view) for kernel in module.KERNELS.values()]


def as_written(code: CodeType) -> CodeType:
    return guard_fusion._compiled(guard_fusion._source(code), code)


def lines(code: CodeType) -> Iterator[int]:
    yield from (line for _, _, line in code.co_lines() if line)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from lines(part)


def test_every_kernel_with_a_guard_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(KERNELS) > 1500
    for kernel in KERNELS:
        plain = as_written(kernel.__code__)
        monkeypatch.setattr(kernel, "__code__", plain)
        guarded = any(name.startswith("AutoDispatchBelow") for name in plain.co_names)
        guard_fusion.fuse(kernel)
        fused = kernel.__code__
        assert (fused is not plain) == guarded
        assert not any(name.startswith("AutoDispatchBelow") for name in fused.co_names), kernel


def test_fused_kernel_has_the_lines_of_the_written_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in KERNELS:
        plain = as_written(kernel.__code__)
        monkeypatch.setattr(kernel, "__code__", plain)
        guard_fusion.fuse(kernel)
        fused = kernel.__code__
        for same in ("co_name", "co_filename", "co_firstlineno", "co_varnames", "co_flags"):
            assert getattr(fused, same) == getattr(plain, same), kernel
        assert max(lines(fused)) == max(lines(plain)), kernel
        # the line that only computes the set belongs to the look-up once it is fused
        assert len(set(lines(plain)) ^ set(lines(fused))) <= 1, kernel


def program() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    y = (x * x).t().sin()
    y.mul_(2)
    y.sum().backward()
    torch.add(torch.ones(2), 1, out=torch.empty(2))


def events() -> list[str]:
    thread.state.sequence_nr = 0
    with dispatchviz.record() as trace:
        program()
    return [repr(event) for event in trace]


def test_fused_and_written_kernels_record_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in KERNELS:
        guard_fusion.fuse(kernel)
    fused = events()
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "__code__", as_written(kernel.__code__))
    assert events() == fused


def test_a_traceback_shows_the_line_that_redispatches() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.add(torch.ones(2, requires_grad=True), torch.ones(3))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.line for frame in frames if frame.filename.endswith("variable_type.py")] == [
        "result = ops.add_Tensor.redispatch(ks & after_autograd_keyset, self, other, alpha)"
    ]


def test_kernel_without_source_is_not_fused() -> None:
    space = dict(vars(variable_type))
    exec("def f(ks, self):\n    with AutoDispatchBelowAutograd():\n        return ops.t.redispatch(ks, self)\n", space)
    before = space["f"].__code__
    guard_fusion.fuse(space["f"])
    assert space["f"].__code__ is before
