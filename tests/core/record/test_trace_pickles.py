"""A trace can be pickled and copied: with ``pickle``, ``copy``, and whatever sends objects to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.trace import Trace


def _recorded(save: Path | None = None) -> tuple[Trace, Trace, Trace]:
    """A trace after its recording, and what was pickled and copied of it before."""
    with dispatchviz.record(save=save) as trace:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        early, copied = pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)
        torch.zeros(2)
    return trace, early, copied  # type: ignore[return-value]


@pytest.mark.parametrize("save", [None, "t.dvtrace", "t.jsonl"])
def test_a_pickled_trace_has_all_of_it(save: str | None, tmp_path: Path) -> None:
    trace, early, copied = _recorded(None if save is None else tmp_path / save)
    for so_far in (early, copied):
        assert type(so_far) is type(trace)
        assert 0 < len(so_far) < len(trace)
        assert list(so_far) == list(trace)[: len(so_far)]
    loaded = dispatchviz.load(tmp_path / save) if save else trace
    for each in (trace, loaded):
        again = pickle.loads(pickle.dumps(each))
        assert type(again) is type(trace)
        assert list(again) == list(trace)
        assert again.header == trace.header
        assert again.notice == each.notice
    assert pickle.loads(pickle.dumps(loaded.events)) == tuple(trace.events)
    assert pickle.loads(pickle.dumps(trace.header)) == trace.header


def test_a_copy_of_a_value_is_the_value(tmp_path: Path) -> None:
    trace, _, _ = _recorded(tmp_path / "t.dvtrace")
    assert copy.copy(trace) is trace
    assert copy.deepcopy({"trace": trace})["trace"] is trace


def test_the_notice_of_a_trace_is_pickled_with_it(tmp_path: Path) -> None:
    with dispatchviz.record(limit=5) as trace:
        torch.ones(2) + 1
    assert "limit" in trace.notice
    assert pickle.loads(pickle.dumps(trace)).notice == trace.notice


@pytest.mark.long
def test_another_process_gets_a_trace_and_gives_one_back(tmp_path: Path) -> None:
    trace, _, _ = _recorded(tmp_path / "t.dvtrace")
    (tmp_path / "t.dvtrace").unlink()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        given_back = pool.submit(copy.copy, trace).result()
    assert list(given_back) == list(trace)
