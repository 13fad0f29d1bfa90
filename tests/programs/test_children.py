"""A fork is noticed without a frame of ours around it: Python 3.12 and later warn of the line that forks."""

from __future__ import annotations

import os
import sys
from types import FrameType

import pytest

from dispatchviz.running.process.children import Family, in_family


def test_the_programs_line_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    callers, forked = list[FrameType | None](), list[int]()

    def fork() -> int:
        callers.append(sys._getframe(0).f_back)
        return 12

    monkeypatch.setattr(os, "fork", fork)
    with in_family(Family(lambda: None, forked.append)):
        assert (os.fork(), os.fork()) == (12, 12)
    assert callers == [sys._getframe(0)] * 2
    assert (forked, os.fork) == ([12, 12], fork)


def test_a_fork_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "no more processes")

    forked = list[int]()
    monkeypatch.setattr(os, "fork", fork)
    with in_family(Family(lambda: None, forked.append)):
        for _ in range(2):
            with pytest.raises(BlockingIOError):
                os.fork()
    assert not forked
