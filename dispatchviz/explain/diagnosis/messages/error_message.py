"""The meaning of PyTorch's errors about missing kernels: the operator, the dispatch table entry, the list, causes and
fixes.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.pytorch_tables import cell_of
from dispatchviz.explain.diagnosis.messages.error_causes import causes
from dispatchviz.explain.diagnosis.messages.error_parser import Line, Message
from dispatchviz.explain.keys.key_names import known_key
from dispatchviz.explain.keys.key_text import is_autograd, is_backend, purpose
from dispatchviz.explain.keys.past_keys import became
from dispatchviz.foundation.pytorch_release import MINOR

GARBLED = "UNKNOWN_TENSOR_TYPE_ID"
"""The name that some releases (around 1.12) print in the list instead of most names."""


class Group(Struct, frozen=True):
    """Keys of the error's list with the same meaning."""

    title: str
    keys: tuple[str, ...]
    meaning: str


class ErrorAnswer(Struct, frozen=True):
    """The explanation of an error."""

    kind: str
    operator: str
    key: str
    happened: tuple[str, ...]
    groups: tuple[Group, ...]
    """The list of the error in groups."""
    causes: tuple[str, ...]
    todo: tuple[str, ...]
    now: str
    """The kernel for that key in PyTorch 2.14; empty if it has no such operator or key."""


def explain(message: Message, registry: Registry) -> ErrorAnswer:
    """Return the explanation of an error."""
    why, todo = causes(message)
    return ErrorAnswer(
        kind=message.kind,
        operator=message.operator,
        key=message.key,
        happened=tuple(_happened(message)),
        groups=tuple(_groups(message)),
        causes=tuple(why),
        todo=tuple(todo),
        now=_now(message, registry),
    )


def _happened(message: Message) -> Iterator[str]:
    operator, key = message.operator, message.key
    if message.kind == "no kernel":
        yield (
            f"The program called the operator {operator}. The highest key in the key set of that call was {key}, so "
            f"the dispatcher looked up the kernel for {key} in {operator}'s dispatch table. That entry is empty: no "
            "registered kernel covers it."
        )
        if past := became(key):
            yield f"{past}."
        elif (known := known_key(key)) is not None:
            yield f"{key} {purpose(known.functionality)}. It is in the set because {_origin(key)}."
    elif message.kind == "no tensors":
        yield (
            f"The program called the operator {operator} and no argument has a dispatch key: no tensor, an empty "
            "list of tensors, or only None. This call goes to the dispatch table entry for Undefined, which is "
            "empty."
        )
    elif message.kind == "meta":
        yield (
            f"The program called the operator {operator} with tensors on the meta device, which have a shape but no "
            "data. It has no kernel for Meta and no composite kernel that covers Meta, so the call reached the Meta "
            "fallback, which only raises this error."
        )
    else:
        yield (
            f"{operator} has a composite kernel (CompositeImplicitAutograd) and a kernel of its own for a backend "
            "that shares the key AutogradOther with other backends. At AutogradOther PyTorch cannot choose between "
            "them, so the kernel for that key only raises this error."
        )


def _origin(key: str) -> str:
    if is_backend(key):
        return f"an argument is a {key} tensor, or the call requests that device"
    if is_autograd(key):
        return "every ordinary tensor of its backend has it"
    return "an argument has it, or a guard or a mode includes it"


# -- the list ---------------------------------------------------------------------------------------------------------


def _groups(message: Message) -> Iterator[Group]:
    lines = message.lines or tuple(Line(key, False, "", "") for key in message.keys if key != GARBLED)
    if GARBLED in message.keys:
        yield Group(
            "The list in brackets",
            (),
            "is garbled: this release printed wrong names there. The lines below the message are correct.",
        )
    titles: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        titles.setdefault(_title(line), []).append(line.key)
    for (title, meaning), keys in sorted(titles.items(), key=lambda item: ORDER.index(item[0][0])):
        yield Group(title, tuple(dict.fromkeys(keys)), meaning)


OWN = "Kernels of its own"
GENERAL = "A general kernel"
SKIPPED = "Skipped"
AUTOGRAD = "Autograd"
FALLBACKS = "Fallbacks"
OTHER = "Other layers"
EMPTY = "Only a fallback that raises"
UNSAID = "In the list"
ORDER = (OWN, GENERAL, AUTOGRAD, OTHER, FALLBACKS, SKIPPED, EMPTY, UNSAID)


def _title(line: Line) -> tuple[str, str]:
    """Return the group of a line, and its meaning."""
    if line.fallthrough:
        return SKIPPED, "fallthroughs: a call skips the key, and nothing runs."
    if is_autograd(line.key) or line.key == "Autograd":
        return AUTOGRAD, (
            "kernels that record the derivative (or nothing) and redispatch to a backend. They do not compute results."
        )
    if line.key == "Meta" and line.reason == "backend fallback":
        return EMPTY, "there is no kernel, only a fallback that raises an error."
    if line.reason == "backend fallback":
        return (
            FALLBACKS,
            "every operator has these. Each does its own task and redispatches. They do not compute results.",
        )
    if _backend(line.key):
        if line.reason in ("math kernel", "default backend kernel", "nested kernel"):
            return GENERAL, "a kernel for many backends: the operator runs on these too."
        return OWN, "the operator runs on these backends."
    if not line.reason:
        return UNSAID, "keys with a dispatch table entry. Only those named after a backend compute results."
    return OTHER, "layers above the backends (tracing, vmap, autocast, ...). They redispatch."


def _backend(key: str) -> bool:
    return is_backend(key) or is_backend(key.removesuffix("TensorId"))


# -- today ------------------------------------------------------------------------------------------------------------


def _now(message: Message, registry: Registry) -> str:
    op, key = registry.get(message.operator), known_key(message.key or _key_of(message.kind))
    if op is None:
        namespace = message.operator.partition("::")[0]
        whose = "" if namespace == "aten" else f" ({namespace} is an extension's namespace)"
        return f"PyTorch {MINOR} itself has no operator {message.operator}{whose}."
    try:
        cell = cell_of(op, key) if key is not None else None
    except KeyError:
        cell = None
    if cell is None or key is None:
        return ""
    command = f"dispatchviz why {message.operator} {key}"
    if not cell.kernel:
        return f"PyTorch {MINOR} has no kernel of {message.operator} for {key} either: {command}"
    kernel = f"{cell.kernel.name} [{cell.reason}]"
    return f"In PyTorch {MINOR} the kernel of {message.operator} for {key} is {kernel}: {command}"


def _key_of(kind: str) -> str:
    return {"no tensors": "Undefined", "meta": "Meta", "ambiguous": "AutogradOther"}.get(kind, "")
