"""Child processes of dispatchviz never outlive their parent, however the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from dispatchviz.foundation.child_processes import tied
from tests.waiting import HANGS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its processes")

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]

BEGINS_OTHERS = "import os, subprocess, time; subprocess.Popen(['sleep', '1000']); os.fork(); os.write(1, b'.')"
WAITING = f"""\
import subprocess, sys
from dispatchviz.foundation.child_processes import ended_together, tied
program = {BEGINS_OTHERS + "; time.sleep(1000)"!r}
process = subprocess.Popen(tied([sys.executable, "-c", program]))
with ended_together(process):
    process.wait()
"""

ENDLESS = """\
import os, torch
open(os.environ["BEGUN"], "w").close()
x = torch.ones(2)
while True:
    x = x + 1
"""


def descendants(process: int) -> set[int]:
    """Return the descendants of a process that have not ended."""
    found: set[int] = set()
    waiting = [process]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            children = {int(number) for number in task.read_text().split()} - found
            found |= children
            waiting += children
    return found


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(is_so: object) -> None:
    begun = time.monotonic()
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() - begun < HANGS
        time.sleep(0.01)


def end(process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    """End a process; check that all its children are gone, and return its exit status."""
    children = descendants(process.pid)
    assert children
    process.send_signal(number)
    process.wait(HANGS)
    wait_until(lambda: not any(map(is_there, children)))
    return process.returncode


@pytest.fixture(autouse=True)
def no_core_files() -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.long
@pytest.mark.parametrize("number", ENDS)
def test_another_program_and_its_children_end_with_their_parent(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.read(2) == b".."
    assert len(descendants(process.pid)) == 3
    end(process, number)
    process.stdout.close()


def test_the_watcher_ends_with_the_program_and_is_not_its_child() -> None:
    asks = "import os, sys; print(os.getpgid(0) == os.getpgid(os.getppid())); os.wait()"
    ended = subprocess.run(tied([sys.executable, "-c", asks]), capture_output=True, text=True)
    assert ended.stdout == "True\n"
    assert "ChildProcessError" in ended.stderr
    wait_until(lambda: not watchers_of(asks))


def watchers_of(text: str) -> list[Path]:
    """Return the processes whose command line contains a text."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if text.encode() in each.read_bytes():
                found.append(each)
    return found


def ended(command: Sequence[str], begun: Path, number: signal.Signals) -> int:
    """Return the exit status of a command that starts a program and is ended while the program runs."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "BEGUN": str(begun)}
    words = [sys.executable, "-m", "dispatchviz", *command]
    process = subprocess.Popen(words, env=environment, cwd=begun.parent, **quiet)  # type: ignore[call-overload]
    wait_until(begun.exists)
    return end(process, number)


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.parametrize("number", ENDS)
def test_check_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    assert ended(["check", "endless.py"], tmp_path / "begun", number) == -number


FIRST_TORCH = """\
import os, torch
if torch.__file__.rpartition("dispatchviz")[1]:
    open(os.environ["BEGUN"], "w").close()
    while True:
        torch.ones(2)
"""


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_check_saves_the_trace_of_the_model_up_to_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    import dispatchviz

    (tmp_path / "endless.py").write_text(FIRST_TORCH)
    assert ended(["check", "--save", "kept.dvtrace", "endless.py"], tmp_path / "begun", number) == -number
    trace = dispatchviz.load(tmp_path / "kept.dvtrace")
    assert len(trace)
    assert not trace.notice
