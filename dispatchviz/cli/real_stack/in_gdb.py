"""Runs inside gdb: the frames of one call of an operator, in a program that runs to its own end.

    gdb -nx -q -batch -ex 'python plan_file = "FILE"' -x in_gdb.py --args python PROGRAM

The plan (``stopped_call.py``) says in which library at which addresses to stop, and in which register the key set of a
call is; the answer goes to the file that it names. Nothing of dispatchviz is imported: gdb has a Python of its own.
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
"""Those that an older gdb does not know."""

TRIES = 5
"""gdb may find the threads of a program that a signal ends gone before it knows that they are."""

CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
MOST_FRAMES = 400
CALL, HOLDER = "call", "holder"
"""Kinds of stops: the entry point of the operator; where any operator's Python kernel is called."""

BEGINNINGS = (CALL, "kernel", HOLDER)
"""Kinds of stops where a call may begin: ``torch.ops`` goes past the entry point. Others are within one only."""

O_WRONLY_CREATE_TRUNCATE = 0o1 | 0o100 | 0o1000
BELOW_STACK = 16384
"""So far below the stack pointer a file's name is put, where nothing is."""


def execute(command: str) -> str:
    """What a command of gdb prints."""
    return str(gdb.execute(command, to_string=True))


def register(name: str) -> int:
    """Of the innermost frame, as a number."""
    return int(gdb.newest_frame().read_register(name)) & (1 << 64) - 1


def memory(address: int, size: int = 8) -> bytes:
    """Bytes of the program."""
    return bytes(gdb.selected_inferior().read_memory(address, size))


def pointer(address: int) -> int:
    """The number that is there."""
    return int(struct.unpack("<Q", memory(address))[0])


def text(address: int) -> str:
    """A ``std::string``."""
    return memory(pointer(address), pointer(address + 8)).decode("utf-8", "replace")


class Program:
    """The program that runs, and how it went on last."""

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
        """Run on to the next stop. False if the program has ended."""
        self.stopped = None
        execute(command)
        return self.exited is None and self.stopped is not None

    @property
    def crash(self) -> str:
        """The signal of a crash at which it has stopped; empty otherwise."""
        name = getattr(self.stopped, "stop_signal", "")
        return name if name in CRASHES else ""

    def hits(self, breakpoints: Sequence[Any]) -> list[Any]:
        """Which of these it has stopped at."""
        numbers = {each.number for each in getattr(self.stopped, "breakpoints", ())}
        return [each for each in breakpoints if each.number in numbers]


def libraries() -> dict[str, int]:
    """Where each file is loaded that the program has in its memory."""
    found: dict[str, int] = {}
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and int(fields[2], 16) == 0:
                found.setdefault(fields[5].strip(), int(fields[0].split("-")[0], 16))
    return found


def frames() -> list[tuple[dict[str, Any], int]]:
    """The stack of the thread that has stopped, innermost first, and the stack pointer above each frame."""
    found: list[tuple[dict[str, Any], int]] = []
    frame = gdb.newest_frame()
    while frame is not None and len(found) < MOST_FRAMES:
        older = frame.older()
        found.append((described(frame), stack_pointer(older)))
        frame = older
    return found


def described(frame: Any) -> dict[str, Any]:
    """What is known of a frame."""
    line = frame.find_sal()
    file = line.symtab.filename if line is not None and line.symtab is not None else ""
    return {
        "function": frame.name() or "",
        "library": str(gdb.solib_name(frame.pc()) or "").rpartition("/")[2],
        "file": file,
        "line": line.line if file else 0,
    }


def stack_pointer(frame: Any) -> int:
    """Of a frame; 0 of none."""
    try:
        return 0 if frame is None else int(frame.read_register("sp")) & (1 << 64) - 1
    except gdb.error:
        return 0


def python_lines(file: str) -> list[str]:
    """The lines of Python that run in this thread, innermost first, as CPython itself writes them.

    ``_Py_DumpTraceback`` is made for crashes: it takes no lock and changes nothing. Empty where it is not to be had.
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
    """gdb.error if gdb cannot write the vector registers, as it does when it calls a function of the program.

    gdb 13 cannot on a processor with AMX. A call that fails there leaves other registers changed, and the program would
    crash.
    """
    for _ in range(2):  # the second time restores it
        execute("set $mxcsr = $mxcsr ^ 0x20")


def dump_traceback(file: str) -> None:
    """Have the program write it."""
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
    """What a function of the program returns."""
    return int(gdb.parse_and_eval(f"(({kind}) {function})({arguments})"))


class Stop:
    """A function at which calls of the operator are noticed."""

    def __init__(self, plan: Plan, base: int) -> None:
        self.plan = plan
        self.begin, self.end = base + plan["offset"], base + plan["offset"] + plan["size"]
        self.breakpoint = gdb.Breakpoint(f"*{self.begin:#x}", internal=True)
        self.breakpoint.silent = True

    @property
    def number(self) -> int:
        """Of its breakpoint."""
        return int(self.breakpoint.number)

    def concerns(self, operator: list[str]) -> bool:
        """Return whether the operator is the one, at a function that serves all."""
        if self.plan["kind"] != HOLDER:
            return True
        try:
            name = pointer(register(self.plan["operator"]))
            return [text(name), text(name + 32)] == operator
        except (gdb.error, gdb.MemoryError):
            return False

    def key_set(self) -> int | None:
        """The set that the function was given; None if that is not certain."""
        name = self.plan["register"]
        return register(name) if name else None


class Watch:
    """Looks for one call of the operator, and keeps the stack at its innermost stop."""

    def __init__(self, plan: Plan, program: Program) -> None:
        self.plan, self.program = plan, program
        self.stops: list[Stop] = []
        self.calls = 0
        """Of the operator, up to the one that is looked for."""
        self.came_to: list[str] = []
        self.sets: list[tuple[int, str, int]] = []
        """Key sets that functions were given: the stack above the function, its name, the set."""
        self.best: dict[str, Any] | None = None
        """The stack at the innermost stop."""
        self.deepest = self.outside = 0
        """The stack pointer there, and where the call began."""
        self.thread: Any = None
        self.returned: Any = None
        """The breakpoint behind the call, from where it began."""
        self.is_over = False
        self.crash: dict[str, Any] | None = None

    def set_stops(self) -> None:
        """Now that the libraries are loaded."""
        loaded = {os.path.realpath(name): base for name, base in libraries().items()}
        for each in self.plan["stops"]:
            base = loaded.get(os.path.realpath(each["library"]))
            if base is not None:
                self.stops.append(Stop(each, base))

    def run(self) -> None:
        """To the end of the call, or of the program."""
        while not self.is_over and self.program.go():
            if self.program.crash:
                self.note_crash()
                return
            if self.returned is not None and self.program.hits([self.returned]) and self.is_outside():
                return
            for stop in self.program.hits(self.stops):
                self.come_to(stop)

    def come_to(self, stop: Stop) -> None:
        """A function of the operator begins."""
        if self.returned is None and self.begins(stop):
            self.returned = self.begin()
        elif self.returned is not None and self.ended(stop):
            self.is_over = True
        if self.returned is not None and not self.is_over and self.is_inside(stop):
            self.note(stop)

    def begins(self, stop: Stop) -> bool:
        """Return whether the call that is looked for begins here."""
        kind = stop.plan["kind"]
        if kind not in BEGINNINGS or not stop.concerns(self.plan["operator"]):
            return False
        if kind != CALL and self.is_within_one():
            return False
        self.calls += 1
        return bool(self.calls == self.plan["call"])

    def is_within_one(self) -> bool:
        """Return whether a function of the operator is around this one."""
        frame, count = gdb.newest_frame().older(), 0
        while frame is not None and count < MOST_FRAMES:
            if any(stop.begin < frame.pc() <= stop.end for stop in self.stops if stop.plan["kind"] != HOLDER):
                return True
            frame, count = frame.older(), count + 1
        return False

    def begin(self) -> Any:
        """Note where the call is; give the breakpoint at which it has returned."""
        self.thread, self.outside = gdb.selected_thread().ptid, register("sp")
        returned = gdb.Breakpoint(f"*{gdb.newest_frame().older().pc():#x}", internal=True)
        returned.silent = True
        return returned

    def is_outside(self) -> bool:
        """Return whether the call has returned."""
        return gdb.selected_thread().ptid == self.thread and register("sp") > self.outside

    def ended(self, stop: Stop) -> bool:
        """Return whether the call ended without a return, by an exception: another begins on no deeper stack."""
        is_same = gdb.selected_thread().ptid == self.thread
        return stop.plan["kind"] == CALL and is_same and register("sp") >= self.outside

    def is_inside(self, stop: Stop) -> bool:
        """Return whether it is the call's own thread and operator."""
        return gdb.selected_thread().ptid == self.thread and stop.concerns(self.plan["operator"])

    def note(self, stop: Stop) -> None:
        """Keep the stack here, if none was deeper and it is a stop of the key that was asked for."""
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
        """The frames with their key sets, and the lines of Python."""
        found = frames()
        for frame, above in found:
            sets = [raw for place, name, raw in self.sets if (place, name) == (above, frame["function"])]
            frame["sets"] = sets[-1:]
        return {"frames": [frame for frame, _ in found], "python": python_lines(self.plan["lines"])}

    def note_crash(self) -> None:
        """The stack of a crash."""
        self.crash = {"signal": self.program.crash, **self.stack()}

    def leave(self) -> None:
        """No more stops: the program runs to its end."""
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
    """Of gdb, and of the program's surroundings, which are those that it has without gdb."""
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
    """Run the program; the answer."""
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
    """How the program ended; one that gdb lost, by its crash."""
    if program.exited is None:
        return {"status": None, "signal": int(signal.Signals[crash["signal"]]) if crash else 0}
    status = getattr(program.exited, "exit_code", None)
    number = gdb.parse_and_eval("$_exitsignal")
    is_signal = status is None and number.type.code == gdb.TYPE_CODE_INT
    return {"status": status, "signal": int(number) if is_signal else 0}


def main(file: str) -> None:
    """Write the answer, or what went wrong."""
    plan = json.loads(Path(file).read_text("utf-8"))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        answer = watched(plan)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    Path(plan["answer"]).write_text(json.dumps(answer), "utf-8")


main(globals()["plan_file"])
