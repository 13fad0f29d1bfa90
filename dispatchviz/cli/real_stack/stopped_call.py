"""One call of an operator in a program on an installed PyTorch, with the real stack at its innermost stop."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from dispatchviz.cli.real_stack.child_python import ChildPython, NoDebuggerError
from dispatchviz.cli.real_stack.stops import Stop
from dispatchviz.explain.calls.backtraces.native_frames import NativeFrame, RawFrame, RawSet, native_frames
from dispatchviz.explain.calls.call_roles import YOURS
from dispatchviz.explain.calls.call_stack import INTERPRETER, Frame
from dispatchviz.explain.keys.key_layouts import layout_of, layouts
from dispatchviz.foundation.child_processes import ended_together, tied
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.call_sites import INSTALLED, shown_file

SCRIPT = Path(__file__).parent / "in_gdb.py"

LOADED_LAST = "libtorch_python"
"""The library that PyTorch loads last."""

START = 'exec "$@" 8>&1 9>&2 >"$0" 2>&1'
"""gdb's own output goes to a file; the program gets our streams."""
WRAPPER = """/bin/sh -c 'exec "$0" "$@" >&8 2>&9 8>&- 9>&-'"""


PYTHON_CODE = "Python code"
"""The role of lines of installed packages; the program's own lines have the role ``your code``."""


class Wanted(Struct, frozen=True):
    """The wanted call, and the stops that count."""

    operator: str
    """The full name: ``aten::add.Tensor``."""
    call: int = 1
    """The number of the call in the program, from 1."""
    kernels: tuple[str, ...] = ()
    """Titles of the stops that count. If empty, all count, and the innermost is shown."""


class Stack(Struct, frozen=True):
    """The stack of a thread."""

    frames: tuple[Frame, ...]
    """Outermost first, with the program's own lines where the interpreter runs."""
    signal: str = ""
    """The signal of a crash: ``SIGSEGV``."""


class StoppedCall(Struct, frozen=True):
    """The result of a run in gdb."""

    calls: int
    """The number of calls of the operator, up to the wanted one."""
    came_to: tuple[str, ...]
    """The functions of the operator that the call reached."""
    stack: Stack | None
    crash: Stack | None
    loaded: bool
    """True if the program imported PyTorch."""
    status: int | None
    """The program's exit status; None if a signal ended it."""
    signal: int


def stopped_call(
    gdb: str,
    python: ChildPython,
    command: Sequence[str],
    wanted: Wanted,
    stops: Sequence[Stop],
    to_stderr: bool = False,
) -> StoppedCall:
    """Run ``python`` with the arguments ``command`` to its end. Raise NoDebuggerError if gdb may not attach to it.

    ``to_stderr`` sends the program's output to stderr.
    """
    with tempfile.TemporaryDirectory(prefix="dispatchviz-") as folder:
        plan = _plan(Path(folder), wanted, stops)
        gdb_log = Path(folder) / "gdb.txt"
        (Path(folder) / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        _run(gdb, Path(folder) / "plan.json", [python.executable, *command], gdb_log, to_stderr)
        answer = answer_in(Path(plan["answer"]), gdb_log)
    return _call(answer, python)


def _plan(folder: Path, wanted: Wanted, stops: Sequence[Stop]) -> dict[str, Any]:
    name, _, overload = wanted.operator.partition(".")
    return {
        "wrapper": WRAPPER,
        "environment": dict(os.environ),
        "loads": LOADED_LAST,
        "stops": [asdict(stop) for stop in stops],
        "operator": [name, overload],
        "call": wanted.call,
        "wanted": wanted.kernels,
        "lines": str(folder / "lines.txt"),
        "answer": str(folder / "answer.json"),
    }


def _run(gdb: str, plan: Path, program: Sequence[str], gdb_log: Path, to_stderr: bool) -> None:
    """Wait until gdb and the program have ended. Ctrl+C in a terminal reaches the program: gdb passes it on."""
    options = ["-nx", "-q", "-batch", "-iex", "set auto-load off", "-ex", f"python plan_file = {str(plan)!r}"]
    command = tied(["/bin/sh", "-c", START, str(gdb_log), gdb, *options, "-x", str(SCRIPT), "--args", *program])
    environment = {**os.environ, "SHELL": "/bin/sh"}
    process = subprocess.Popen(command, env=environment, stdout=2 if to_stderr else None)
    with ended_together(process):  # the program ends with its debugger
        process.wait()


def answer_in(file: Path, gdb_log: Path) -> dict[str, Any]:
    """Return the answer that gdb wrote. Raise DispatchvizError if there is none, with the reason in gdb's log."""
    text = gdb_log.read_text("utf-8", "replace") if gdb_log.exists() else ""
    answer = json.loads(file.read_text("utf-8")) if file.exists() else {"error": _last(text)}
    if "error" not in answer:
        return dict(answer)
    why = f"{answer['error']} {text}"
    if re.search(r"ptrace|Operation not permitted|Permission denied|Could not trace", why):
        raise NoDebuggerError(
            "gdb may not watch a program here (ptrace is forbidden): in a container, allow it with "
            f"--cap-add=SYS_PTRACE; gdb says: {answer['error']}"
        )
    if "scripting is not supported" in why:
        raise NoDebuggerError("this gdb has no Python, which dispatchviz stack needs: install a gdb that has")
    if GDB_CRASHED in text:
        raise DispatchvizError("gdb itself crashed, which is a bug of this gdb: try another version of it")
    raise DispatchvizError(f"gdb failed: {answer['error']}")


GDB_CRASHED = "This is a bug, please report it"
"""The text that gdb prints when it crashes."""


def _last(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def _call(answer: Mapping[str, Any], python: ChildPython) -> StoppedCall:
    release = layout_release(python.release)
    return StoppedCall(
        answer["calls"],
        tuple(answer["came_to"]),
        None if answer["stack"] is None else _stack(answer["stack"], release),
        None if answer["crash"] is None else _stack(answer["crash"], release),
        answer["loaded"],
        answer["status"],
        answer["signal"],
    )


def layout_release(release: str) -> str | None:
    """Return the release whose layout reads the key sets; None for the model's own, and for an unknown one."""
    layout = layout_of(release)
    return None if layout is None or layout is layouts()[-1] else release


# -- frames -----------------------------------------------------------------------------------------------------------


def _stack(answer: Mapping[str, Any], release: str | None) -> Stack:
    raw = [_raw(each) for each in answer["frames"]]
    frames = native_frames(raw, release)
    return Stack(tuple(_with_lines(frames, python_frames(answer["python"]))), answer.get("signal", ""))


def _raw(answer: Mapping[str, Any]) -> RawFrame:
    sets = tuple(RawSet("DispatchKeySet", raw) for raw in answer["sets"])
    return RawFrame(answer["function"], answer["library"], answer["file"], answer["line"], sets=sets)


_LINE = re.compile(r'  File "(.*)", line (\d+) in (.*)')


def python_frames(lines: Sequence[str]) -> tuple[Frame, ...]:
    """Return the frames of a traceback, outermost first. CPython writes it innermost first in a crash."""
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    return tuple(_python_frame(match[1], int(match[2]), match[3]) for match in reversed(found))


def _python_frame(file: str, number: int, function: str) -> Frame:
    text = _text(file, number) or f"line {number}"
    title = text if function == "<module>" else f"{function}: {text}"
    installed = re.fullmatch(rf".*/(?:{'|'.join(INSTALLED)})/(.*)", file)
    if installed or file.startswith("<frozen "):
        return Frame(title, f"{installed[1] if installed else file}:{number}", -1, PYTHON_CODE)
    shown = shown_file(file) if os.path.isabs(file) else file
    return Frame(title, f"{shown}:{number}", -1, YOURS)


def _text(file: str, number: int) -> str:
    import linecache

    return linecache.getline(file, number).strip()


def _with_lines(frames: Sequence[NativeFrame], lines: Sequence[Frame]) -> Iterator[Frame]:
    """Insert the program's lines after the interpreter's outermost frames."""
    inside = [at for at, frame in enumerate(frames) if frame.role == INTERPRETER]
    place = next((at + 1 for at in inside if at + 1 not in inside), 0)
    yield from frames[:place]
    yield from lines[:-1]
    yield from (replace(line, note=AGAIN if inside[-1:] > [place] else "") for line in lines[-1:])
    yield from frames[place:]


AGAIN = "Python runs again in an inner frame: these lines belong to all of its frames"
"""The remark on the lines when the interpreter occurs again, because their split among its frames is not known."""
