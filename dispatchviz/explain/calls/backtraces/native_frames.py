"""The frames of a backtrace with what is known of each: role, PyTorch's file, the keys of its sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dispatchviz.explain.calls.backtraces.cpp_names import plain_name, wrapped_function
from dispatchviz.explain.calls.backtraces.function_roles import known_function
from dispatchviz.explain.calls.backtraces.known_functions import Known
from dispatchviz.explain.calls.call_stack import INTERPRETER, OTHER, UNNAMED, Frame
from dispatchviz.explain.keys.raw_key_sets import Reading, raw_set_card


@dataclass(frozen=True, slots=True)
class RawSet:
    """A key set among the arguments of a frame."""

    name: str
    """Of the argument: ``dispatchKeySet``."""
    raw: int


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame as a debugger has it."""

    function: str
    """As it is printed, with template arguments and types; empty if it has no name."""
    library: str = ""
    """Without folders: ``libtorch_cpu.so``."""
    file: str = ""
    """As the debug information has it; empty of a release build."""
    line: int = 0
    number: int | None = None
    """The debugger's: 0 is the innermost."""
    sets: tuple[RawSet, ...] = ()


@dataclass(frozen=True, slots=True)
class KeySet:
    """A key set of a frame, taken apart."""

    name: str
    raw: int
    hex: str
    keys: tuple[str, ...]
    """Highest priority first."""
    remark: str = ""
    """Of a set that is none of the release that was asked for."""

    @property
    def text(self) -> str:
        """``dispatchKeySet 0x10000010001 = 1099511693313: AutogradCPU, CPU``"""
        keys = ", ".join(self.keys) or "no keys"
        return f"{self.name} {self.hex} ({self.raw}): {keys}{self.remark}"


@dataclass(frozen=True, slots=True)
class NativeFrame(Frame):
    """A frame of a real process."""

    printed: str = ""
    """The function's name as the debugger has it."""
    number: int | None = None
    sets: tuple[KeySet, ...] = ()
    is_pytorchs: bool = True


_ROOTS = re.compile(r"(?:.*?/)?((?:build/aten/src|aten/src|torch/csrc|c10|third_party)/.+)")


def native_frames(raw: Sequence[RawFrame], release: str | None = None) -> tuple[NativeFrame, ...]:
    """Of a backtrace, which is innermost first, the frames outermost first.

    ``release`` names the PyTorch by whose layout key sets are read. DispatchvizError for one that is not known.
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
    """A lambda that debug information gives no function is one of what calls it, if it is in that file and namespace.

    Empty of one that has its function, and of what is no lambda.
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
    """That of the debug information before the one that follows from the name."""
    own = _pytorchs(frame.file) or ("" if known.file else frame.file)
    if not own and known.file.rpartition("/")[2] == frame.file.rpartition("/")[2]:
        own = known.file  # lldb prints no folders
    return f"{own}:{frame.line}" if own and frame.line else own or known.file


def _pytorchs(file: str) -> str:
    """``aten/src/ATen/core/TensorBase.h`` of a file in somebody's folder; empty of what is not PyTorch's."""
    found = _ROOTS.fullmatch(file)
    return "" if found is None else found[1]


def _taken_apart(found: RawSet, release: str | None) -> KeySet:
    card = raw_set_card(found.raw, release)
    if release is None and card.sensible:
        return KeySet(found.name, found.raw, card.hex, card.members)
    if not card.elsewhere:
        return KeySet(found.name, found.raw, card.hex, card.members, " (hardly a key set of PyTorch 2.13)")
    reading = card.elsewhere[0]
    return KeySet(found.name, found.raw, card.hex, reading.members, _remark(reading, release is None))


def _remark(reading: Reading, says_release: bool) -> str:
    """What is said behind the keys of another release than ours."""
    where = [f"in PyTorch {reading.releases}"] if says_release else []
    return f" ({'; '.join([*where, f'hardly: {reading.objection}'])})" if reading.objection else _in(where)


def _in(where: list[str]) -> str:
    return f" ({where[0]})" if where else ""


def numbered(frames: Sequence[NativeFrame]) -> Iterator[NativeFrame]:
    """The frames with the debugger's numbers before their names."""
    for frame in frames:
        yield frame if frame.number is None else replace(frame, title=f"#{frame.number} {frame.title}")
