"""Tracebacks that a program prints while it is recorded on an installed PyTorch."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any, overload

import pytest

from dispatchviz.foundation.english import listed
from dispatchviz.live import kernel_steps
from dispatchviz.live.hidden_frames import our_frames_hidden


class _Failing(Sequence[str]):
    """Words that raise an error when they are counted."""

    def __len__(self) -> int:
        raise LookupError

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: Any) -> Any:
        raise LookupError


def _through_our_frame() -> TracebackType:
    """Return a traceback with a frame of ours between two others."""
    with pytest.raises(LookupError) as caught:
        listed(_Failing())
    return caught.tb


def test_our_frames_are_left_out() -> None:
    with our_frames_hidden((0, None)):
        names = [frame.name for frame in traceback.extract_tb(_through_our_frame())]
    assert names == ["_through_our_frame", "__len__"]


def test_tool_that_reads_entry_by_entry_gets_each_frame() -> None:
    """pytest does so, and needs a frame for each entry."""
    entry: TracebackType | None = _through_our_frame()
    with our_frames_hidden((0, None)):
        while entry is not None:
            (frame,) = traceback.extract_tb(entry, limit=1)
            assert frame.name == entry.tb_frame.f_code.co_name
            entry = entry.tb_next


def test_pytest_leaves_out_our_modules_only_meanwhile() -> None:
    with our_frames_hidden((0, None)):
        assert vars(kernel_steps)["__tracebackhide__"]
        assert "__tracebackhide__" not in vars(sys.modules[__name__])
    assert "__tracebackhide__" not in vars(kernel_steps)
