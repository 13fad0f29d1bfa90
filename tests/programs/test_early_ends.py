"""If the process of a program ends early, its trace is kept, and the process ends as it would have without us."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.record.trace_file import Trace
from tests.cli.command import Ended, dispatchviz, script

pytestmark = pytest.mark.long

KEPT = "(the trace is kept: dispatchviz open "
BEGIN = "import os, signal, torch\nx = torch.ones(2)\n"
FORKS = BEGIN + "pid = os.fork()\ny = x + 1\nif pid: os.wait()\nprint('child' if pid == 0 else 'parent', flush=True)\n"


def _ends(folder: Path, end: str, *options: str) -> Ended:
    """Run a program that calls an operator and then ends in that way."""
    text = f"{BEGIN}{end}\nfor _ in range(10**8): pass\n"
    return dispatchviz("run", *options, script(folder, text), cwd=folder)


def _trace_in(folder: Path, said: str) -> Trace:
    assert KEPT in said
    return Trace.load(folder / said.rpartition(KEPT)[2].removesuffix(")\n"))


def _has_the_call(trace: Trace) -> bool:
    return any(isinstance(event, Dispatched) and event.operator == "aten::ones" for event in trace)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("options", [(), ("--save", "mine.jsonl")])
def test_a_signal_finishes_the_trace_and_then_ends_the_process(
    number: signal.Signals, options: tuple[str, ...], tmp_path: Path
) -> None:
    ended = _ends(tmp_path, f"os.kill(os.getpid(), {int(number)})", *options)
    assert ended.status == -number
    assert ended.err.startswith(f"dispatchviz: program.py: ended by {number.name} {KEPT}")
    assert _has_the_call(_trace_in(tmp_path, ended.err))
    assert (tmp_path / "mine.jsonl").exists() == bool(options)


@pytest.mark.parametrize(
    "end", ["os._exit(7)", "import threading; threading.Thread(target=os._exit, args=(7,)).start()"]
)
def test_an_exit_without_cleaning_up_keeps_the_trace(end: str, tmp_path: Path) -> None:
    ended = _ends(tmp_path, end)
    assert ended.status == 7
    assert ended.err.startswith(f"dispatchviz: program.py: ended by os._exit(7) {KEPT}")
    assert _has_the_call(_trace_in(tmp_path, ended.err))


def test_program_that_calls_exec_keeps_its_trace(tmp_path: Path) -> None:
    ended = _ends(tmp_path, f"os.execv({sys.executable!r}, ['python', '-c', 'print(3)'])")
    assert ended.status == 0
    assert ended.err.startswith(f"dispatchviz: program.py: ended by os.execv {KEPT}")
    assert _has_the_call(_trace_in(tmp_path, ended.err.removesuffix("3\n")))


def test_signal_that_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    text = f"{BEGIN}os.kill(os.getpid(), signal.SIGHUP)\nprint(signal.getsignal(signal.SIGHUP).name)\n"
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", "/dev/null", script(tmp_path, text)]
    done = subprocess.run(["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *command], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"SIG_IGN\n", b"")


@pytest.mark.parametrize("command", [["trace", "-o", "log.txt"], ["run", "--plain", "--save", "t.jsonl"]])
def test_forked_child_is_reported_as_not_recorded(command: list[str], tmp_path: Path) -> None:
    ended = dispatchviz(*command, script(tmp_path, FORKS), cwd=tmp_path)
    printed = ended.out if command[0] == "trace" else ended.err
    assert ended.status == 0
    assert printed.splitlines()[:2] == ["child", "parent"]
    (said,) = [line for line in ended.err.splitlines() if line.startswith("dispatchviz: ")]
    assert re.fullmatch(r"dispatchviz: a forked process was not recorded: it began before step \d+", said)
    assert ended.out.count("line 2  x = torch.ones(2)") <= 1
    assert {path.name for path in tmp_path.iterdir()} == {"program.py", command[-1]}


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_child_processes_find_the_model(method: str, tmp_path: Path) -> None:
    text = (
        "import multiprocessing, subprocess, sys, torch\n"
        "def work(n):\n    return torch.__file__, (torch.ones(n) * 2).tolist()\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        file, numbers = pool.apply(work, (2,))\n"
        "    print(file == torch.__file__, numbers)\n"
        "    again = [sys.executable, '-c', 'import torch; print(torch.__file__)']\n"
        "    print(subprocess.check_output(again, text=True).strip() == torch.__file__)\n"
    )
    ended = dispatchviz("trace", "-o", "/dev/null", script(tmp_path, text), cwd=tmp_path)
    assert (ended.status, ended.out) == (0, "True [2.0, 2.0]\nTrue\n")


def test_a_child_that_cannot_load_the_model_says_so(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys\n"
        "hide = 'import sys; sys.modules[\"numpy\"] = None; import torch'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', hide]).returncode)\n"
    )
    ended = dispatchviz("trace", "-o", "/dev/null", script(tmp_path, text), cwd=tmp_path)
    assert ended.status == 1
    assert "ImportError: a program under dispatchviz started this process, so torch is its model" in ended.err


def test_a_sitecustomize_of_the_users_runs_in_children_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('customized')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    child = "import sys; print([path for path in sys.path if path.endswith('for_children')])"
    text = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    ended = dispatchviz("trace", "-o", "/dev/null", script(tmp_path, text), cwd=tmp_path)
    assert (ended.status, ended.out) == (0, "customized\ncustomized\n[]\n")
