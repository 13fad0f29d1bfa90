"""The class of an operator, as ``at::_ops::add_Tensor``: its two typed entry points, made from its schema.

torchgen prints this class for each operator (``build/aten/src/ATen/Operators_*.cpp``). A program uses few of the two
thousand, so the class is compiled here on first use, which takes 0.1 ms. It is compiled, and not a closure, because
every call passes through it: a function with the operator's own parameters is the fastest that Python has.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dispatchviz.core.call.aten import Entry, keys_of
from dispatchviz.core.call.dispatcher import redispatch
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.python_signature import class_name, class_text
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.thread.thread_state import thread

NAMES: Mapping[str, Any] = {
    "Entry": Entry,
    "int64": int64,
    "keys_of": keys_of,
    "redispatch": redispatch,
    "thread": thread,
}
"""The names that the text of a class refers to."""


def define(schema: FunctionSchema, space: dict[str, Any], folder: Path) -> Any:
    """Define the class among a module's names, which include ``NAMES``, and return it.

    Debuggers and tracebacks show its text under the name of a file in ``folder`` that does not exist.
    """
    name, source = class_name(schema.full_name), class_text(schema)
    file = str(folder / f"{name}.py")
    exec(compile(class_text(schema, types=False), file, "exec", dont_inherit=True), space)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return space[name]
