"""A debugger finds on the stack of an installed PyTorch what the record has."""

from __future__ import annotations

import platform
import sys

import pytest

from truth import records

pytest.importorskip("torch")
pytestmark = pytest.mark.record("backtraces")


@pytest.mark.long
@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the record is of Linux on x86-64"
)
@pytest.mark.pinned
def test_the_backtraces_are_those_of_the_record() -> None:
    from truth.recorders import backtraces

    try:
        taken = backtraces.taken()
    except backtraces.NoDebuggerError as error:
        pytest.skip(str(error))
    assert taken == records.read("backtraces")
