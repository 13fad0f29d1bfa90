"""The key sets of a thread, read where an installed PyTorch keeps them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.local_sets import LocalSets

pytestmark = pytest.mark.torch


def read(sets: LocalSets, kept: Sequence[int]) -> list[int]:
    return [one ^ default for one, default in zip(kept, sets.defaults, strict=True)]


def asked(c: Any) -> list[int]:
    return [c._dispatch_tls_local_include_set().raw_repr(), c._dispatch_tls_local_exclude_set().raw_repr()]


def compare(torch: Any, sets: LocalSets) -> list[bool]:
    kept = sets.of_this_thread()
    with torch.inference_mode():
        inside = read(sets, kept) == asked(torch._C)
        differs = read(sets, kept)
    return [inside, read(sets, kept) == asked(torch._C), differs != read(sets, kept)]


@pytest.mark.parametrize("is_found", [True, False])
def test_each_thread_has_its_own(is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed_torch()
    if not is_found:
        monkeypatch.setattr("dispatchviz.live.local_sets._NAME", "no_such_variable")
    sets = LocalSets(torch._C)
    found: list[list[bool]] = []
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
        thread = threading.Thread(target=lambda: found.append(compare(torch, sets)))
        thread.start()
        thread.join()
        found.append(compare(torch, sets))
    assert found == [[True] * 3] * 2


def test_a_variable_that_does_not_follow_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed_torch()
    monkeypatch.setattr(LocalSets, "_there", lambda self: memoryview(bytes(16)).cast("Q"))
    sets = LocalSets(torch._C)
    assert compare(torch, sets) == [True] * 3
