"""The fusion of guard and redispatch of a generated autograd kernel into one call, when its operator is first used.

The file, and with it the source pane, a debugger and a traceback, shows the two lines of PyTorch's kernel::

    with AutoDispatchBelowADInplaceOrView():
        result = ops.add_Tensor.redispatch(ks & after_autograd_keyset, self, other, alpha)

The code that runs is one look-up of a function that holds the guard (``guarded_redispatch.py``). It is compiled from
the same text with the same line numbers::

    if True:
        result = ops.add_Tensor.entry.redispatch_within_AutoDispatchBelowADInplaceOrView[ks & after_autograd_keyset](
            self, other, alpha)

Rule 1: a function is only replaced by one that does and records the same. If the source cannot be read or has another
layout, the function stays unchanged, and is slower.
Rule 2: the fusion happens before the function first runs, since recorders identify code objects by identity.

It takes 0.2 ms an operator. Compiling a whole module this way at its import would take seconds where Python may not
cache bytecode, and a module compiled at installation would not be fused at all.
"""

from __future__ import annotations

import linecache
import re
from itertools import islice, takewhile
from types import CodeType, FunctionType

_GUARDED = re.compile(
    r"^(?P<indent> +)with (?P<guard>AutoDispatchBelow\w+)\(\):\n"
    r"(?P<target>(?P=indent)    (?:return |[\w, ]+ = )?)ops\.(?P<operator>\w+)\.redispatch\("
    r"(?P<space>\s*)ks & (?P<keyset>\w+)(?:, ?)?",
    re.MULTILINE,
)
"""The two lines as ``codegen/autograd.py`` prints them. The arguments may begin in the line after the call."""

_FUSED = (
    r"\g<indent>if True:\n"
    r"\g<target>ops.\g<operator>.entry.redispatch_within_\g<guard>[ks & \g<keyset>](\g<space>"
)


def fuse(function: FunctionType) -> None:
    """Replace the function's code by the fused one, if there is a guard to fuse."""
    code = function.__code__
    if any(name.startswith("AutoDispatchBelow") for name in code.co_names):
        source = _source(code)
        fused, count = _GUARDED.subn(_FUSED, source)
        if count:
            function.__code__ = _compiled(fused, code)


def _source(code: CodeType) -> str:
    """The text of a function, up to the next empty line; empty if its file cannot be read."""
    lines = linecache.getlines(code.co_filename)
    return "".join(takewhile(str.strip, islice(lines, code.co_firstlineno - 1, None)))


def _compiled(source: str, code: CodeType) -> CodeType:
    """Compile a function's source, with the line numbers of ``code``."""
    module = compile(f"from __future__ import annotations\n{source}", code.co_filename, "exec", dont_inherit=True)
    parts = (part for part in module.co_consts if isinstance(part, CodeType))
    made = next(part for part in parts if part.co_name != "__annotate__")  # Python 3.14 puts that before the function
    return _moved(made, code.co_firstlineno - 2)


def _moved(code: CodeType, lines: int) -> CodeType:
    """The same code, with that of its comprehensions, moved down by ``lines`` lines."""
    constants = tuple([_moved(part, lines) if isinstance(part, CodeType) else part for part in code.co_consts])
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)
