"""A process that ends by a signal calls the functions of ``atexit`` if Python would."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.waiting import HANGS

PROGRAM = """
import atexit
from dispatchviz.cli.end_by_signal import die

atexit.register(print, "last")
die({number})
"""


@pytest.mark.parametrize(("number", "printed"), [(signal.SIGINT, "last\n"), (signal.SIGTERM, "")])
def test_functions_of_atexit_are_called_after_ctrl_c(number: signal.Signals, printed: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(number=int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-number, printed, "")
