"""Code that runs inside gdb: read the frames of one call of an operator, in a program that runs to its own end.

    gdb -nx -q -batch -ex 'python plan_file = "FILE"' -x in_gdb.py --args python PROGRAM

The plan (``stopped_call.py``) lists the libraries and addresses to stop at, and the register that holds the key set of
a call. The answer goes to the file that the plan names. Nothing of dispatchviz is imported, because gdb has a Python of
its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gdb

if TYPE_CHECKING:
    from collections.abc import Sequence

Plan = dict[str, Any]

SETTINGS = (
    "pagination off", "confirm off", "breakpoint pending on", "print thread-events off", "print inferior-events off",
    "disable-randomization off", "follow-fork-mode parent", "detach-on-fork on", "unwindonsignal on",
)  # fmt: skip
NEWER_SETTINGS = ("debuginfod enabled off", "startup-quietly on")
"""Settings that an older gdb does not know."""

TRIES = 5
"""The number of attempts to go on. When a signal ends a program, its threads may be gone before gdb knows it."""

CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
MOST_FRAMES = 400
CALL, HOLDER = "call", "holder"
"""Kinds of stops: the operator's entry point, and the function that calls the Python kernel of any operator."""

BEGINNINGS = (CALL, "kernel", HOLDER)
"""Kinds of stops where a call may begin: ``torch.ops`` bypasses the entry point. Other kinds only occur within a
call.
"""

O_WRONLY_CREATE_TRUNCATE = 0o1 | 0o100 | 0o1000
BELOW_STACK = 16384
"""The distance below the stack pointer at which a file's name is stored, because that memory is unused."""


def execute(command: str) -> str:
    """Run a command of gdb and return its output."""
    return str(gdb.execute(command, to_string=True))


def register(name: str) -> int:
    """Return a register of the innermost frame as a number."""
    return int(gdb.newest_frame().read_register(name)) & (1 << 64) - 1


def memory(address: int, size: int = 8) -> bytes:
    """Read bytes from the program's memory."""
    return bytes(gdb.selected_inferior().read_memory(address, size))


def pointer(address: int) -> int:
    """Read a 64-bit number from the program's memory."""
    return int(struct.unpack("<Q", memory(address))[0])


def text(address: int) -> str:
    """Read a ``std::string`` from the program's memory."""
    return memory(pointer(address), pointer(address + 8)).decode("utf-8", "replace")


class Program:
    """The running program, and its last stop or exit."""

    def __init__(self) -> None:
        self.stopped: Any = None
        self.exited: Any = None
        gdb.events.stop.connect(self._stops)
        gdb.events.exited.connect(self._exits)

    def _stops(self, event: Any) -> None:
        self.stopped = event

    def _exits(self, event: Any) -> None:
        self.exited = event

    def go(self, command: str = "continue") -> bool:
        """Run to the next stop. Return False if the program has ended."""
        self.stopped = None
        execute(command)
        return self.exited is None and self.stopped is not None

    @property
    def crash(self) -> str:
        """The signal of the crash that stopped the program; empty if it did not crash."""
        name = getattr(self.stopped, "stop_signal", "")
        return name if name in CRASHES else ""

    def hits(self, breakpoints: Sequence[Any]) -> list[Any]:
        """Return those breakpoints at which the program has stopped."""
        numbers = {each.number for each in getattr(self.stopped, "breakpoints", ())}
        return [each for each in breakpoints if each.number in numbers]


def libraries() -> dict[str, int]:
    """Return the load address of each file in the program's memory."""
    found: dict[str, int] = {}
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and int(fields[2], 16) == 0:
                found.setdefault(fields[5].strip(), int(fields[0].split("-")[0], 16))
    return found


def frames() -> list[tuple[dict[str, Any], int]]:
    """Return the stack of the stopped thread, innermost first, with the stack pointer above each frame."""
    found: list[tuple[dict[str, Any], int]] = []
    frame = gdb.newest_frame()
    while frame is not None and len(found) < MOST_FRAMES:
        older = frame.older()
        found.append((described(frame), stack_pointer(older)))
        frame = older
    return found


def described(frame: Any) -> dict[str, Any]:
    """Return a frame's function, library, file and line."""
    line = frame.find_sal()
    file = line.symtab.filename if line is not None and line.symtab is not None else ""
    return {
        "function": frame.name() or "",
        "library": str(gdb.solib_name(frame.pc()) or "").rpartition("/")[2],
        "file": file,
        "line": line.line if file else 0,
    }


def stack_pointer(frame: Any) -> int:
    """Return a frame's stack pointer; 0 without a frame."""
    try:
        return 0 if frame is None else int(frame.read_register("sp")) & (1 << 64) - 1
    except gdb.error:
        return 0


def python_lines(file: str) -> list[str]:
    """Return the lines of Python that run in this thread, innermost first, as CPython itself writes them.

    ``_Py_DumpTraceback`` is made for crashes: it takes no lock and changes nothing. The list is empty where it cannot
    be called.
    """
    try:
        execute("set scheduler-locking on")
        dump_traceback(file)
        return Path(file).read_text("utf-8", "replace").splitlines()
    except (gdb.error, gdb.MemoryError, OSError):
        return []
    finally:
        execute("set scheduler-locking off")


def check_registers() -> None:
    """Raise gdb.error if gdb cannot write the vector registers, which it does when it calls a function of the program.

    gdb 13 cannot write them on a processor with AMX. A call that fails there leaves other registers changed, and the
    program would crash.
    """
    for _ in range(2):  # the second time restores it
        execute("set $mxcsr = $mxcsr ^ 0x20")


def dump_traceback(file: str) -> None:
    """Call ``_Py_DumpTraceback`` in the program, into a file."""
    check_registers()
    name = os.fsencode(file) + b"\0"
    at = (register("sp") - BELOW_STACK) & ~15
    before = memory(at, len(name))
    gdb.selected_inferior().write_memory(at, name)
    opened = called("int (*)(void *, int, int)", "open", f"(void *) {at}, {O_WRONLY_CREATE_TRUNCATE}, 384")
    gdb.selected_inferior().write_memory(at, before)
    if opened >= 0:
        state = called("unsigned long (*)(void)", "PyGILState_GetThisThreadState", "")
        if state:
            called("unsigned long (*)(int, void *)", "_Py_DumpTraceback", f"{opened}, (void *) {state}")
        called("int (*)(int)", "close", str(opened))


def called(kind: str, function: str, arguments: str) -> int:
    """Call a function of the program and return its result."""
    return int(gdb.parse_and_eval(f"(({kind}) {function})({arguments})"))


class Stop:
    """A function at which gdb notices calls of the operator."""

    def __init__(self, plan: Plan, base: int) -> None:
        self.plan = plan
        self.begin, self.end = base + plan["offset"], base + plan["offset"] + plan["size"]
        self.breakpoint = gdb.Breakpoint(f"*{self.begin:#x}", internal=True)
        self.breakpoint.silent = True

    @property
    def number(self) -> int:
        """The number of its breakpoint."""
        return int(self.breakpoint.number)

    def concerns(self, operator: list[str]) -> bool:
        """Return whether this call is for the operator; only a function that serves all operators has to be asked."""
        if self.plan["kind"] != HOLDER:
            return True
        try:
            name = pointer(register(self.plan["operator"]))
            return [text(name), text(name + 32)] == operator
        except (gdb.error, gdb.MemoryError):
            return False

    def key_set(self) -> int | None:
        """Return the key set that the function was given; None if it is not certain."""
        name = self.plan["register"]
        return register(name) if name else None


class Watch:
    """Search for one call of the operator, which keeps the stack at the call's innermost stop."""

    def __init__(self, plan: Plan, program: Program) -> None:
        self.plan, self.program = plan, program
        self.stops: list[Stop] = []
        self.calls = 0
        """The number of calls of the operator so far, up to the wanted one."""
        self.came_to: list[str] = []
        self.sets: list[tuple[int, str, int]] = []
        """The key sets that functions were given: the stack pointer above the function, its name, the set."""
        self.best: dict[str, Any] | None = None
        """The stack at the innermost stop."""
        self.deepest = self.outside = 0
        """The stack pointer at the innermost stop, and where the call began."""
        self.thread: Any = None
        self.returned: Any = None
        """The breakpoint after the call, at the return address."""
        self.is_over = False
        self.crash: dict[str, Any] | None = None

    def set_stops(self) -> None:
        """Set the breakpoints, once the libraries are loaded."""
        loaded = {os.path.realpath(name): base for name, base in libraries().items()}
        for each in self.plan["stops"]:
            base = loaded.get(os.path.realpath(each["library"]))
            if base is not None:
                self.stops.append(Stop(each, base))

    def run(self) -> None:
        """Run to the end of the call, or of the program."""
        while not self.is_over and self.program.go():
            if self.program.crash:
                self.note_crash()
                return
            if self.returned is not None and self.program.hits([self.returned]) and self.is_outside():
                return
            for stop in self.program.hits(self.stops):
                self.come_to(stop)

    def come_to(self, stop: Stop) -> None:
        """Handle the beginning of a function of the operator."""
        if self.returned is None and self.begins(stop):
            self.returned = self.begin()
        elif self.returned is not None and self.ended(stop):
            self.is_over = True
        if self.returned is not None and not self.is_over and self.is_inside(stop):
            self.note(stop)

    def begins(self, stop: Stop) -> bool:
        """Return whether the wanted call begins here."""
        kind = stop.plan["kind"]
        if kind not in BEGINNINGS or not stop.concerns(self.plan["operator"]):
            return False
        if kind != CALL and self.is_within_one():
            return False
        self.calls += 1
        return bool(self.calls == self.plan["call"])

    def is_within_one(self) -> bool:
        """Return whether a function of the operator calls this one."""
        frame, count = gdb.newest_frame().older(), 0
        while frame is not None and count < MOST_FRAMES:
            if any(stop.begin < frame.pc() <= stop.end for stop in self.stops if stop.plan["kind"] != HOLDER):
                return True
            frame, count = frame.older(), count + 1
        return False

    def begin(self) -> Any:
        """Note where the call is; return the breakpoint at its return address."""
        self.thread, self.outside = gdb.selected_thread().ptid, register("sp")
        returned = gdb.Breakpoint(f"*{gdb.newest_frame().older().pc():#x}", internal=True)
        returned.silent = True
        return returned

    def is_outside(self) -> bool:
        """Return whether the call has returned."""
        return gdb.selected_thread().ptid == self.thread and register("sp") > self.outside

    def ended(self, stop: Stop) -> bool:
        """Return whether an exception ended the call: then another call begins on a stack that is no deeper."""
        is_same = gdb.selected_thread().ptid == self.thread
        return stop.plan["kind"] == CALL and is_same and register("sp") >= self.outside

    def is_inside(self, stop: Stop) -> bool:
        """Return whether this is the call's own thread and operator."""
        return gdb.selected_thread().ptid == self.thread and stop.concerns(self.plan["operator"])

    def note(self, stop: Stop) -> None:
        """Keep the stack if no earlier one was deeper and this is a stop of the wanted key."""
        title, place = stop.plan["title"], register("sp")
        key_set = stop.key_set()
        if key_set is not None:
            self.sets.append((place + 8, gdb.newest_frame().name() or "", key_set))
        if title not in self.came_to:
            self.came_to.append(title)
        wanted = self.plan["wanted"]
        if (not wanted or title in wanted) and (self.best is None or place <= self.deepest):
            self.deepest, self.best = place, self.stack()

    def stack(self) -> dict[str, Any]:
        """Return the frames with their key sets, and the lines of Python."""
        found = frames()
        for frame, above in found:
            sets = [raw for place, name, raw in self.sets if (place, name) == (above, frame["function"])]
            frame["sets"] = sets[-1:]
        return {"frames": [frame for frame, _ in found], "python": python_lines(self.plan["lines"])}

    def note_crash(self) -> None:
        """Keep the stack of a crash."""
        self.crash = {"signal": self.program.crash, **self.stack()}

    def leave(self) -> None:
        """Remove all stops and let the program run to its end."""
        ours = [*(stop.breakpoint for stop in self.stops), *([self.returned] if self.returned else [])]
        for each in [*(gdb.breakpoints() or ()), *ours]:
            if each.is_valid():
                each.delete()
        tries = TRIES
        while self.program.exited is None and tries:
            try:
                self.program.go()
                if self.program.crash and self.crash is None:
                    self.note_crash()
            except gdb.error:
                tries -= 1


def settings(plan: Plan) -> None:
    """Configure gdb, and restore the environment that the program has without gdb."""
    for setting in SETTINGS:
        execute(f"set {setting}")
    for setting in NEWER_SETTINGS:
        with contextlib.suppress(gdb.error):
            execute(f"set {setting}")
    execute("handle all nostop noprint pass")
    execute("handle SIGINT nostop noprint pass")
    execute("handle {} stop print pass".format(" ".join(CRASHES)))
    for name in ("LINES", "COLUMNS", "SHELL"):
        value = plan["environment"].get(name)
        execute(f"unset environment {name}" if value is None else f"set environment {name} {value}")


def watched(plan: Plan) -> dict[str, Any]:
    """Run the program and return the answer."""
    settings(plan)
    execute("set exec-wrapper {}".format(plan["wrapper"]))
    program = Program()
    watch = Watch(plan, program)
    execute("tcatch load {}".format(plan["loads"]))
    if program.go("run") and not program.crash:
        watch.set_stops()
        watch.run()
    elif program.crash:
        watch.note_crash()
    found = bool(watch.stops)
    watch.leave()
    return {
        "loaded": found, "calls": watch.calls, "came_to": watch.came_to, "stack": watch.best, "crash": watch.crash,
        **ended(program, watch.crash),
    }  # fmt: skip


def ended(program: Program, crash: dict[str, Any] | None) -> dict[str, Any]:
    """Return how the program ended. If gdb lost the program, its crash decides."""
    if program.exited is None:
        return {"status": None, "signal": int(signal.Signals[crash["signal"]]) if crash else 0}
    status = getattr(program.exited, "exit_code", None)
    number = gdb.parse_and_eval("$_exitsignal")
    is_signal = status is None and number.type.code == gdb.TYPE_CODE_INT
    return {"status": status, "signal": int(number) if is_signal else 0}


def main(file: str) -> None:
    """Write the answer, or the error, to the plan's file."""
    plan = json.loads(Path(file).read_text("utf-8"))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        answer = watched(plan)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    Path(plan["answer"]).write_text(json.dumps(answer), "utf-8")


main(globals()["plan_file"])
