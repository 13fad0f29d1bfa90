"""The variables at the version before a write are the same, however many variables were saved before it."""

from __future__ import annotations

import sys

import pytest

from dispatchviz import record, torch
from dispatchviz.core.record.events import VersionBumped
from dispatchviz.explain.graph import version_counters
from dispatchviz.explain.graph.version_counters import invalidated_by, undetected_by
from dispatchviz.trace import Trace


def invalidating(trace: Trace, few: int, monkeypatch: pytest.MonkeyPatch, backwards: bool) -> dict[int, list[int]]:
    """The steps of the variables at the version before each write, asked for in order or backwards."""
    monkeypatch.setattr(version_counters, "FEW", few)
    monkeypatch.setattr(version_counters, "_known", {})
    writes = [event for event in trace if isinstance(event, VersionBumped)]
    return {
        write.seq: [saved.seq for find in (invalidated_by, undetected_by) for saved in find(trace, write)]
        for write in (reversed(writes) if backwards else writes)
    }


@pytest.mark.parametrize("backwards", [False, True])
def test_variables_are_found_among_many_as_among_few(backwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weight, kept = torch.ones(2, requires_grad=True), []
    with record() as trace:
        for _ in range(4):
            kept.append(weight.sin())
            weight.sin().sum().backward()
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
                packed = weight.sin().sum()
            with torch.no_grad():
                weight.add_(1)
            packed.backward()  # no version is compared
    expected = invalidating(trace, sys.maxsize, monkeypatch, backwards)
    assert invalidating(trace, 0, monkeypatch, backwards) == expected
    assert sum(map(len, expected.values())) == 8
