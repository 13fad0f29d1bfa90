"""A recorded program that waits in C is ended by a signal as a plain one is, and its trace is complete."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz.core.record.events import SourceLine
from tests.waiting import HANGS

pytestmark = pytest.mark.long

WAITS = """\
import ctypes, signal, threading, time
never = threading.Thread(target=time.sleep, args=(10**6,), daemon=True)
never.start()
print("waits", flush=True)
ctypes.CDLL(None).pthread_join(ctypes.c_ulong(never.ident), None)
"""
"""A program that waits where no signal interrupts it, as ``Work.wait`` of ``torch.distributed`` does."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_waits_in_c_ends(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    command = [sys.executable, "-m", "dispatchviz", "trace", "--save", "waits.dvtrace", "-o", "log.txt", "waits.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANGS)
    assert process.returncode == -number
    assert f"ended by {number.name}" in errors
    trace = dispatchviz.load(tmp_path / "waits.dvtrace")
    assert trace.notice == ""
    assert [event.line for event in trace if isinstance(event, SourceLine)][-1] in (4, 5)


COMPUTES = """\
import torch
x = torch.randn(6000, 6000)
print("computes", flush=True)
torch.linalg.svd(x)
print("has computed", flush=True)
"""
"""A program that computes for a minute in a PyTorch kernel."""


@pytest.mark.torch
def test_an_installed_pytorch_that_computes_ends(tmp_path: Path) -> None:
    (tmp_path / "computes.py").write_text(COMPUTES)
    command = [sys.executable, "-m", "dispatchviz", "trace", "--engine", "torch", "--save", "computes.dvtrace"]
    command += ["-o", "log.txt", "computes.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "computes\n"
        process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=HANGS)
    assert (process.returncode, said) == (-signal.SIGTERM, "")
    assert "ended by SIGTERM" in errors
    trace = dispatchviz.load(tmp_path / "computes.dvtrace")
    assert [event.line for event in trace if isinstance(event, SourceLine)][-1] in (3, 4)


ASKS = """\
import os, signal, socket
assert signal.set_wakeup_fd(-1) == -1
read, write = socket.socketpair()
write.setblocking(False)
assert signal.set_wakeup_fd(write.fileno()) == -1
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
assert read.recv(9) == bytes([signal.SIGUSR1])
assert signal.set_wakeup_fd(-1) == write.fileno()
signal.signal(signal.SIGTERM, lambda *_: print("handled"))
if not (child := os.fork()):
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(3)
assert os.waitpid(child, 0)[1] >> 8 == 3
import time
time.sleep(1)
print("end")
"""


def test_the_programs_own_signals_are_its_own(tmp_path: Path) -> None:
    """This covers the program's file for signal numbers, its handlers, and those of a child that it forks."""
    (tmp_path / "asks.py").write_text(ASKS)
    plain = subprocess.run([sys.executable, "asks.py"], cwd=tmp_path, capture_output=True, text=True)
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", "log.txt", "asks.py"]
    recorded = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    assert plain.stdout.endswith("end\n")
