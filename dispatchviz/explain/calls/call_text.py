"""A call of the program as its author would write it: ``torch.add(x, y)``, ``x + y``, ``z.sum()``.

The arguments are those that the binding parsed, without those that have their default value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import with_names

_OPERATORS = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__matmul__": "@",
    "__pow__": "**",
    "__iadd__": "+=",
    "__isub__": "-=",
    "__imul__": "*=",
    "__itruediv__": "/=",
    "__ipow__": "**=",
    "__radd__": "+",
    "__rsub__": "-",
    "__rmul__": "*",
    "__rtruediv__": "/",
    "__rpow__": "**",
}
_BRACKETS = re.compile(r"[([{]|[)\]}]|,")


def call_text(trace: Trace, event: ev.BindingEntered) -> str:
    """The text of the call, with the names of variables at that step."""
    owner, _, method = event.function.rpartition(".")
    values = [(name, with_names(trace, value, event.seq)) for name, value in event.arguments]
    if owner != "Tensor" or not values:
        return f"{event.function}({', '.join(_written(event.signature, values))})"
    receiver, arguments = values[0][1], list(_written(event.signature, values[1:]))
    if method in _OPERATORS and len(arguments) == 1:
        return _infix(receiver, method, arguments[0])
    return f"-{receiver}" if method == "__neg__" else f"{receiver}.{method}({', '.join(arguments)})"


def _infix(receiver: str, method: str, other: str) -> str:
    left, right = (other, receiver) if method.startswith("__r") else (receiver, other)
    return f"{left} {_OPERATORS[method]} {right}"


class _Parameter(NamedTuple):
    type: str
    default: str
    """The default value; empty if the argument is required."""
    keyword_only: bool


def _written(signature: str, values: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the arguments to write. After an omitted argument, the others are passed by keyword."""
    parameters = _parameters(signature)
    by_name = False
    for name, value in values:
        known = parameters.get(name, _Parameter("", "", False))
        if known.default and value in (known.default, f"{known.default}.0", "None"):
            by_name = True
        elif by_name or known.keyword_only:
            yield f"{name}={value}"
        else:
            yield value.strip("[]") if _spread(parameters, known) else value


def _spread(parameters: Mapping[str, _Parameter], known: _Parameter) -> bool:
    """Return whether a shape is the only positional parameter, so that it needs no brackets: ``torch.randn(2, 2)``."""
    positional = [parameter for parameter in parameters.values() if not parameter.keyword_only]
    return known.type == "tuple of ints" and positional == [known]


@functools.lru_cache(maxsize=4096)
def _parameters(signature: str) -> Mapping[str, _Parameter]:
    """The parameters of a signature: input and alpha of ``add(Tensor input, *, Number alpha = 1)``."""
    found: dict[str, _Parameter] = {}
    keyword_only = False
    for part in _parts(signature[signature.find("(") + 1 : signature.rfind(")")]):
        if part == "*":
            keyword_only = True
        elif part:
            declared, _, default = part.partition("=")
            kind, _, name = declared.strip().rpartition(" ")
            found[name] = _Parameter(kind, default.strip(), keyword_only)
    return found


def _parts(text: str) -> Iterator[str]:
    """Split at the commas that are outside brackets."""
    depth = start = 0
    for mark in _BRACKETS.finditer(text):
        if mark[0] != ",":
            depth += 1 if mark[0] in "([{" else -1
        elif depth == 0:
            yield text[start : mark.start()].strip()
            start = mark.end()
    yield text[start:].strip()
