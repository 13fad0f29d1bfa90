"""Recordings near a limit of events, or of the stack."""

from __future__ import annotations

import shutil
import sys

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recording_limit import DEFAULT_LIMIT, Limit, read_limit
from dispatchviz.foundation.errors import DispatchvizError
from tests.explain.programs import traced


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (None, DEFAULT_LIMIT),
        ("none", Limit()),
        (" None ", Limit()),
        ("1000000", Limit(events=1_000_000)),
        ("1_000", Limit(events=1000)),
        ("500MB", Limit(bytes=500_000_000)),
        ("2 GiB", Limit(bytes=2 << 30)),
        ("3k", Limit(bytes=3000)),
        ("64b", Limit(bytes=64)),
    ],
)
def test_a_limit_is_a_number_of_events_or_a_size(text: str | None, limit: Limit) -> None:
    assert read_limit(text) == limit


@pytest.mark.parametrize("text", ["", "0", "-3", "many", "3 apples", "1.5GB", "0MB", "_", "9" * 30])
def test_other_limits_are_refused_with_the_allowed_forms(text: str) -> None:
    with pytest.raises(DispatchvizError, match=r"is not valid: write a number of events \(1000000\) or a size"):
        read_limit(text)


def test_the_default_limit_leaves_half_of_the_free_space(monkeypatch: pytest.MonkeyPatch) -> None:
    free = DEFAULT_LIMIT.bytes
    assert free is not None
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(9 * free, 8 * free, free))  # type: ignore[attr-defined]
    limit = DEFAULT_LIMIT.on_disk_of("/")
    assert limit.bytes == free // 2
    assert limit.reached(1, free // 2).endswith(" bytes is reached (limit none removes it, limit 20GB sets another)")
    assert Limit(bytes=free).on_disk_of("/").bytes == free
    assert Limit().on_disk_of("/") == Limit()


def test_disk_with_enough_space_gets_the_default_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**14, 0, 10**14))  # type: ignore[attr-defined]
    assert DEFAULT_LIMIT.on_disk_of("/") == DEFAULT_LIMIT


ENDLESS = """
    import sys
    import torch

    sys.setrecursionlimit({})
    lib = torch.library.Library("my", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: torch.ops.my.f(x), "Autograd")
    torch.ops.my.f(torch.ones(2))
"""


@pytest.mark.parametrize("limit", range(900, 910))  # about 7 frames a level: each is the last one once
def test_recursion_error_belongs_to_the_program(limit: int, capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.getrecursionlimit()
    trace = traced(ENDLESS.format(limit))
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    assert last.exception == "RecursionError"
    assert last.line == 8
    assert trace.header.remarks == ()
    assert len(trace.steps_of(ev.Dispatched)) > 50
    assert "ignored" not in capfd.readouterr().err
    assert sys.getrecursionlimit() == before
