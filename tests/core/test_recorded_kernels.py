"""Recorded and guarded calls: the functions written out for a number of arguments do what the general ones do."""

from __future__ import annotations

import traceback
from contextlib import nullcontext

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.generated import recorded_calls as written_out
from dispatchviz.core.kernel import guarded_redispatch
from dispatchviz.core.seam.process_modes import Mode, process_modes
from dispatchviz.running.process_state import clean_process_state


def _program() -> None:
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = torch.where(x > 2, x * x, torch.cat([x, x])[:2])
    y.exp_().topk(1)[0].sum().backward()
    try:
        torch.mm(x, x)
    except RuntimeError:
        torch.nn.functional.layer_norm(x, (3,)).sum().backward()


def _events() -> list[str]:
    with clean_process_state(), dispatchviz.record() as trace:
        _program()
    return list(map(str, trace))


def test_general_and_written_out_functions_record_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _events()
    for name in ("CALLS", "REDISPATCHES", "REDISPATCHES_WITHIN"):
        monkeypatch.setattr(written_out, name, {})
    assert _events() == expected


def test_general_and_written_out_functions_redispatch_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def state() -> list[object]:
        x = torch.ones(2, requires_grad=True)
        y = (x * 3).sum()
        y.backward()
        return [x.grad.tolist(), y.grad_fn.name(), torch._C._dispatch_tls_local_exclude_set()]

    expected = state()
    monkeypatch.setattr(guarded_redispatch, "REDISPATCH_WITHIN", {})
    process_modes.refresh(Mode.RECORDING)  # what was made before is dropped
    try:
        assert [str(value) for value in state()] == [str(value) for value in expected]
    finally:
        process_modes.refresh(Mode.RECORDING)


@pytest.mark.parametrize("recorded", [False, True])
def test_traceback_shows_the_real_lines(recorded: bool) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with dispatchviz.record() if recorded else nullcontext(), pytest.raises(RuntimeError) as found:
        torch.mm(x, x)
    frames = [frame for frame in traceback.extract_tb(found.value.__traceback__) if "/generated/" in frame.filename]
    calls = [frame.line or "" for frame in frames if frame.filename.endswith("_calls.py")]
    assert len(calls) == (2 if recorded else 1)
    assert all("function(ks, a0, a1)" in line for line in calls)
