"""Changes to a line of a program, in the form in which they are typed: ``line 6: no_grad``, ``line 6: device cuda x``.

``changed_program.py`` applies them, and ``offered_changes.py`` selects those that make sense at a step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.guard import GUARD_FILES
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.errors import DispatchvizError


class Change(NamedTuple):
    """A change of a line, which applies each time that the line runs."""

    line: int
    what: str
    """A name in ``KINDS``."""
    words: tuple[str, ...] = ()
    """The words typed after it."""

    @property
    def command(self) -> str:
        """The change without its line: ``device cuda x``."""
        return " ".join((self.what, *self.words))

    @property
    def text(self) -> str:
        """The change in its typed form."""
        return f"line {self.line}: {self.command}"

    @property
    def sentence(self) -> str:
        """A sentence about the changed line: ``line 6 runs under torch.no_grad()``."""
        return f"line {self.line} {_effect(self)}"


class Kind(NamedTuple):
    """A kind of change."""

    usage: str
    read: Callable[[Sequence[str]], tuple[str, ...] | None]
    """The function that completes the words. It returns None for words that do not match the usage, and raises
    DispatchvizError for an unknown name.
    """


def read_change(text: str) -> Change:
    """Return the typed change. Raise DispatchvizError with the text and the possible changes if it is not one."""
    found = TYPED.fullmatch(text.strip())
    if found is None:
        raise DispatchvizError(f"{text!r} is no change: write LINE: CHANGE, for example 'line 6: no_grad'")
    what, *words = found["change"].split()
    if guard := next((word for word in (what, *words) if word in GUARD_FILES), None):
        raise DispatchvizError(
            f"{text!r}: PyTorch holds {guard} inside a call. Only lines of the program can be changed; skip removes "
            "a guard that the program creates"
        )
    kind = KINDS.get(what)
    if kind is None:
        raise DispatchvizError(f"{text!r}: there is no change {what!r}; the changes are {listed(list(KINDS))}")
    read = kind.read(words)
    if read is None:
        raise DispatchvizError(f"{text!r}: after the line write {kind.usage}")
    return Change(int(found["line"]), what, read)


def for_device(change: Change, device: str) -> Change:
    """Return a change with the device of a run if the change does not name one."""
    if change.what == "autocast" and not any(map(_is_device, change.words)):
        return change._replace(words=(device, *change.words))
    return change


def device_of(trace: Trace) -> str:
    """Return the device of a run: cuda if one of its tensors is on cuda."""
    made = (trace[step] for step in trace.steps_of(ev.TensorCreated))
    return (
        "cuda"
        if any(isinstance(event, ev.TensorCreated) and event.device.startswith("cuda") for event in made)
        else "cpu"
    )


TYPED = re.compile(r"(?:line\s*)?(?P<line>[0-9]{1,9})\s*:\s*(?P<change>\S.*)", re.DOTALL)


# -- words of each kind -----------------------------------------------------------------------------------------------


def _nothing(words: Sequence[str]) -> tuple[str, ...] | None:
    return None if words else ()


def _autocast(words: Sequence[str]) -> tuple[str, ...] | None:
    if len(words) > 2:
        return None
    devices, dtypes = [w for w in words if _is_device(w)], [w for w in words if not _is_device(w)]
    if len(devices) > 1 or len(dtypes) > 1:
        return None
    return (*devices, *map(_dtype, dtypes))


def _requires_grad(words: Sequence[str]) -> tuple[str, ...] | None:
    name, *rest = words or [""]
    return (_tensor(name), *rest) if name and rest in ([], ["off"]) else None


def _device(words: Sequence[str]) -> tuple[str, ...] | None:
    if len(words) < 2:
        return None
    if not _is_device(words[0]):
        raise DispatchvizError(f"there is no device {words[0]!r}: write cpu, cuda, cuda:1 or meta")
    return (words[0], *map(_tensor, words[1:]))


def _dtypes(words: Sequence[str]) -> tuple[str, ...] | None:
    return (_dtype(words[0]), *map(_tensor, words[1:])) if len(words) > 1 else None


def _key_and_operator(words: Sequence[str]) -> tuple[str, ...] | None:
    from dispatchviz.explain.keys.key_names import find_key

    return (find_key(words[0]).name, _operator(words[1])) if len(words) == 2 else None


def _is_device(word: str) -> bool:
    return re.fullmatch(r"(cpu|cuda|meta)(:[0-9]{1,3})?", word) is not None


def _dtype(word: str) -> str:
    name = word.removeprefix("torch.")
    if name not in DTYPES:
        raise DispatchvizError(f"there is no dtype {word!r}: write one of {listed(DTYPES, 'or')}")
    return name


DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16", "int8", "uint8",
    "bool",
)  # fmt: skip


def _tensor(word: str) -> str:
    """Return the name of a tensor in the program: ``x``, ``net.weight``, ``ws[0]``."""
    try:
        read = ast.parse(word, mode="eval").body
    except (SyntaxError, ValueError):
        read = ast.Constant(None)
    if not isinstance(read, ast.Name | ast.Attribute | ast.Subscript):
        raise DispatchvizError(f"{word!r} is not the name of a tensor: write it as in the line, x or net.weight")
    return ast.unparse(read)


def _operator(word: str) -> str:
    """Return the full name of one of PyTorch's operators. An operator of another namespace is the program's own."""
    from dispatchviz.core.table.pytorch_registrations import pytorch_operators
    from dispatchviz.explain.cells.operator_names import find_operator

    if "::" in word and not word.startswith("aten::"):
        return word
    return find_operator(word, pytorch_operators()).name


def _effect(change: Change) -> str:
    match change.what, change.words:
        case "autocast", words:
            return f"runs under torch.autocast({', '.join(words)})"
        case "requires_grad", (tensor, *off):
            return f"begins with {tensor}.requires_grad_({not off})"
        case "device", (device, *tensors):
            return f"gets {', '.join(f'{tensor}.to({device!r})' for tensor in tensors)}"
        case "dtype", (dtype, *tensors):
            return f"gets {', '.join(f'{tensor}.to(torch.{dtype})' for tensor in tensors)}"
        case "fallthrough", (key, operator):
            return f"runs while {key} falls through for {operator}"
        case "register", (key, operator):
            return f"runs with a Python kernel registered to {key} of {operator}, which calls the original kernel"
        case "skip", _:
            return "is left out"
    return f"runs under torch.{change.what}()"


KINDS = {
    "no_grad": Kind("no_grad", _nothing),
    "enable_grad": Kind("enable_grad", _nothing),
    "inference_mode": Kind("inference_mode", _nothing),
    "autocast": Kind("autocast [DEVICE] [DTYPE]", _autocast),
    "requires_grad": Kind("requires_grad TENSOR [off]", _requires_grad),
    "device": Kind("device DEVICE TENSOR...", _device),
    "dtype": Kind("dtype DTYPE TENSOR...", _dtypes),
    "fallthrough": Kind("fallthrough KEY OP", _key_and_operator),
    "register": Kind("register KEY OP", _key_and_operator),
    "skip": Kind("skip", _nothing),
}
"""The kinds by their names."""
