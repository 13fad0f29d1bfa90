"""The table of an operator while another thread reads it: the thread that writes a trace asks for masks at any time."""

from __future__ import annotations

import pytest

import dispatchviz.torch  # noqa: F401 # makes the operators
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.fallthrough_mask import FallthroughMasks
from dispatchviz.core.table.registry import process


def test_masks_are_complete_when_the_table_becomes_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, update, seen = process.operators["aten::add.Tensor"], FallthroughMasks.update, list[object]()
    before = entry.masks.single

    def watched(masks: FallthroughMasks, key: DispatchKey, falls_through: bool) -> None:
        seen.append((entry._table, entry._masks is masks))
        update(masks, key, falls_through)

    monkeypatch.setattr(FallthroughMasks, "update", watched)
    monkeypatch.setattr(entry, "_table", None)
    assert entry.masks.single == before
    assert seen
    assert set(seen) == {(None, False)}
