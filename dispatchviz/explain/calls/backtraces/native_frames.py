"""The frames of a backtrace with their roles, PyTorch's files, and the keys of their sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import Struct

from dispatchviz.explain.calls.backtraces.cpp_names import plain_name, wrapped_function
from dispatchviz.explain.calls.backtraces.function_roles import known_function
from dispatchviz.explain.calls.backtraces.known_functions import Known
from dispatchviz.explain.calls.call_stack import INTERPRETER, OTHER, UNNAMED, Frame
from dispatchviz.explain.keys.raw_key_sets import Reading, raw_set_card
from dispatchviz.foundation.pytorch_release import MINOR


class RawSet(Struct, frozen=True):
    """A key set among the arguments of a frame."""

    name: str
    """The name of the argument: ``dispatchKeySet``."""
    raw: int


class RawFrame(Struct, frozen=True):
    """A frame as a debugger prints it."""

    function: str
    """The printed name, with template arguments and types; empty if it has no name."""
    library: str = ""
    """The name of the library without folders: ``libtorch_cpu.so``."""
    file: str = ""
    """The file in the debug information; empty for a release build."""
    line: int = 0
    number: int | None = None
    """The debugger's number; 0 is the innermost frame."""
    sets: tuple[RawSet, ...] = ()


class KeySet(Struct, frozen=True):
    """The parts of a key set of a frame."""

    name: str
    raw: int
    hex: str
    keys: tuple[str, ...]
    """The keys, highest priority first."""
    remark: str = ""
    """The remark on a set that does not fit the requested release."""

    @property
    def text(self) -> str:
        """``dispatchKeySet 0x10000010001 = 1099511693313: AutogradCPU, CPU``"""
        keys = ", ".join(self.keys) or "no keys"
        return f"{self.name} {self.hex} ({self.raw}): {keys}{self.remark}"


@dataclass(frozen=True, slots=True)
class NativeFrame(Frame):
    """A frame of a real process."""

    printed: str = ""
    """The function's name as the debugger prints it."""
    number: int | None = None
    sets: tuple[KeySet, ...] = ()
    is_pytorchs: bool = True


_ROOTS = re.compile(r"(?:.*?/)?((?:build/aten/src|aten/src|torch/csrc|c10|third_party)/.+)")


def native_frames(raw: Sequence[RawFrame], release: str | None = None) -> tuple[NativeFrame, ...]:
    """The frames of a backtrace, outermost first; a backtrace is innermost first.

    ``release`` names the PyTorch whose layout of key sets is used. Raise DispatchvizError if it is not known.
    """
    names = [plain_name(frame.function) for frame in raw]
    found: list[NativeFrame] = []
    for at in reversed(range(len(raw))):
        outer = names[at + 1 :]
        name = _lambda_of(found[-1], outer[0], raw[at]) if found and _is_lambda(names[at]) else ""
        is_local = raw[at].function.startswith(_LOCAL)
        found.append(_native(raw[at], known_function(name or names[at], outer, raw[at].library, is_local), release))
    return tuple(found)


_LOCAL = ("at::(anonymous namespace)::", "at::{anonymous}::")


def _is_lambda(name: str) -> bool:
    return name.endswith(_LAMBDAS)


_LAMBDAS = ("operator()", "{lambda}")


def _lambda_of(around: NativeFrame, outer: str, frame: RawFrame) -> str:
    """The name of a lambda without a function in the debug information: a lambda of its caller, if both are in the same
    file and namespace.

    Empty if the lambda has its function, and for other functions.
    """
    space = re.sub(r"(?:::)?(?:operator\(\)|\{lambda\})$", "", plain_name(frame.function))
    is_there = _pytorchs(frame.file) == around.file.partition(":")[0] != ""
    return f"{outer}::{{lambda}}" if is_there and space in ("", outer.rpartition("::")[0]) else ""


def _native(frame: RawFrame, known: Known, release: str | None) -> NativeFrame:
    sets = tuple(_taken_apart(each, release) for each in frame.sets)
    wrapped = wrapped_function(frame.function) if known.role in ("adapter", "unboxing") else ""
    notes = ([f"of {wrapped}"] if wrapped else []) + [each.text for each in sets]
    return NativeFrame(
        known.title,
        _file(frame, known),
        -1,
        known.role,
        "; ".join(notes),
        library=frame.library,
        printed=frame.function,
        number=frame.number,
        sets=sets,
        is_pytorchs=known.role not in (INTERPRETER, OTHER, UNNAMED),
    )


def _file(frame: RawFrame, known: Known) -> str:
    """The file in the debug information, else the file that follows from the name."""
    own = _pytorchs(frame.file) or ("" if known.file else frame.file)
    if not own and known.file.rpartition("/")[2] == frame.file.rpartition("/")[2]:
        own = known.file  # lldb prints no folders
    return f"{own}:{frame.line}" if own and frame.line else own or known.file


def _pytorchs(file: str) -> str:
    """``aten/src/ATen/core/TensorBase.h`` for a file in any user's folder; empty if the file is not PyTorch's."""
    found = _ROOTS.fullmatch(file)
    return "" if found is None else found[1]


def _taken_apart(found: RawSet, release: str | None) -> KeySet:
    card = raw_set_card(found.raw, release)
    if release is None and card.sensible:
        return KeySet(found.name, found.raw, card.hex, card.members)
    if not card.elsewhere:
        return KeySet(found.name, found.raw, card.hex, card.members, f" (unlikely to be a key set of PyTorch {MINOR})")
    reading = card.elsewhere[0]
    return KeySet(found.name, found.raw, card.hex, reading.members, _remark(reading, release is None))


def _remark(reading: Reading, says_release: bool) -> str:
    """The remark behind the keys of another release than ours."""
    where = [f"in PyTorch {reading.releases}"] if says_release else []
    return f" ({'; '.join([*where, f'hardly: {reading.objection}'])})" if reading.objection else _in(where)


def _in(where: list[str]) -> str:
    return f" ({where[0]})" if where else ""


def numbered(frames: Sequence[NativeFrame]) -> Iterator[NativeFrame]:
    """Yield the frames with the debugger's numbers before their names."""
    for frame in frames:
        yield frame if frame.number is None else replace(frame, title=f"#{frame.number} {frame.title}")
