"""The generator of ``generated/return_types.py``: the named tuples that bindings of operators with several results
return.
"""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.core.codegen.model import NativeFunction
from dispatchviz.core.codegen.pages import page


def text(functions: Iterable[NativeFunction]) -> str:
    """The text of the classes, one for each name. An operator's overloads share one, and its out= variants share
    another.
    """
    rows = dict.fromkeys(_row(f) for f in functions if is_named(f))
    imports = {"dispatchviz.core.bindings.struct_sequence": ("struct_sequence",)}
    mirrors = "torch/csrc/autograd/generated/python_return_types.cpp"
    return page("Named tuples of results: ``torch.return_types``.", mirrors, imports, ["\n".join(sorted(rows)) + "\n"])


def is_named(function: NativeFunction) -> bool:
    """Return whether its results have names and users can call it."""
    returns = function.schema.returns
    return len(returns) > 1 and all(r.name for r in returns) and (function.function or function.method)


def class_name(function: NativeFunction) -> str:
    """The name of the class: ``max`` or ``max_out``. ``linalg_qr`` keeps its prefix."""
    return function.cpp_name


def _row(function: NativeFunction) -> str:
    fields = ", ".join(f'"{r.name}"' for r in function.schema.returns)
    return f'{class_name(function)} = struct_sequence("{class_name(function)}", ({fields}))'
