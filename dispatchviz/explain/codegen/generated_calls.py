"""The calls between the functions that are generated for an operator, read from their texts, as a tree.

The chain from the highest key of a call down to the backends is nested, because each kernel calls the next one. The
calls of a backend's kernel are one level deeper: handwritten functions, and the operators that they call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.explain.codegen.definitions import Piece, definition, formula_function, native_file, operators
from dispatchviz.explain.codegen.generated_functions import Function

K = DispatchKey

PASSING = ("Autograd", "ADInplaceOrView", "BackendSelect")
"""The keys whose kernels pass a call on to the keys below, in the order in which a call meets them."""


class Call(Struct, frozen=True):
    """A function that runs, and its calls."""

    what: str
    where: str = ""
    """The file in PyTorch, or ours for a handwritten function."""
    within: tuple[Call, ...] = field(default=())


def call_trees(name: str, functions: list[Function], tensors: bool) -> list[Call]:
    """Return the forward call, and the Node's formulas if there is one. ``tensors`` means that the operator takes
    tensors.
    """
    forward = _forward(name, functions, tensors)
    return [forward, *(_node(function) for function in functions if function.role == "node")]


def _forward(name: str, functions: list[Function], tensors: bool) -> Call:
    bindings = [f for f in functions if f.role == "binding" and not f.name.startswith("THPVariable")]
    operator = next(f for f in functions if f.role == "operator")
    kernels = [f for f in functions if f.role == "kernel"]
    called = Call(f"{operator.name}::call", _short(operator.pytorch), tuple(_below(name, kernels, tensors)))
    if not bindings:
        return called
    return Call(" or ".join(f.name for f in bindings), ", ".join(_short(f.pytorch) for f in bindings), (called,))


def _below(name: str, kernels: list[Function], tensors: bool) -> Iterator[Call]:
    """Yield the calls from the highest key down. A call without tensors has no autograd key."""
    selects = any(f.key == "BackendSelect" for f in kernels)
    passing = [f for key in PASSING for f in kernels if f.key == key]
    passing = [f for f in passing if tensors or not selects or f.key == "BackendSelect"]
    yield from _chain(name, passing, [f for f in kernels if f.key not in PASSING])


def _chain(name: str, passing: list[Function], rest: list[Function]) -> Iterator[Call]:
    if not passing:
        yield from (_backend(f) for f in rest)
        return
    first, *others = passing
    below = Call(f"at::_ops::{name.replace('.', '_')}::redispatch", "", tuple(_chain(name, others, rest)))
    yield Call(f"{first.key}: {first.name}", _short(first.pytorch), (*_aside(first), below))


def _aside(function: Function) -> Iterator[Call]:
    """Yield the tasks of a kernel other than passing the call on."""
    text = function.here.text
    if node := re.search(r"\b(\w+Backward\d+)\(", text):
        saved = dict.fromkeys(re.findall(r'(?:save|keep)\(grad_fn, "(\w+)"', text))
        yield Call(f"makes {node[1]}" + (f", keeps {', '.join(saved)}" if saved else ""))
    if (called := re.search(r"\bforward_mode\.(\w+)\(", text)) is not None:
        yield from (Call(f"if an input has a tangent: {formula}") for formula in _forward_formulas(called[1]))
    if "increment_version(" in text:
        yield Call("then bumps the version")
    if "as_view(" in text:
        yield Call("then ties the result to its base (as_view)")


def _forward_formulas(name: str) -> Iterator[str]:
    """Yield the formulas that a kernel's function in ``generated/forward_mode.py`` evaluates. A long one has several
    lines.
    """
    piece = definition("generated/forward_mode.py", name)
    for literals in re.findall(r'forward_formula\(\s*((?:"[^"]*"\s*)+)', piece.text if piece else ""):
        yield "".join(re.findall(r'"([^"]*)"', literals))


def _backend(function: Function) -> Call:
    return Call(f"{function.key}: {function.name}", _short(function.pytorch), tuple(_work(function)))


def _work(function: Function) -> Iterator[Call]:
    """Yield the handwritten functions and the operators that a backend's kernel calls."""
    text = function.here.text
    family = re.search(r'(?:DefaultBackend|Functional|InPlace|Out)\("(\w+)"', text)
    impl = _impl(text, function.key)
    seen: set[str] = set()
    for module, called in re.findall(r"\b(\w+)\.(\w+)\(", text):
        piece = definition(native_file(module), called) if module not in ("ops", "op") else None
        if piece is not None and called not in seen:
            seen.add(called)
            yield Call(_impl_name(called, family, impl), piece.location, tuple(_operators_in(piece)))
    yield from _operators_in(function.here)


def _impl(text: str, key: str) -> str:
    """Return the name of PyTorch's impl function in a structured kernel; empty for other kernels. CPU and CUDA may
    share a text.
    """
    found = re.search(r'enter_impl\(\s*\(?\s*"(\w+)"(?:\s+if ks & CUDA_BIT\s+else "(\w+)")?', text)
    if found is None:
        return ""
    return found[2] if found[2] and key == "CPU" else found[1]


def _impl_name(called: str, family: re.Match[str] | None, impl: str) -> str:
    """Return the name of the called function: ``structured_add_Tensor::meta``, ``structured_ufunc_add_CPU::impl``,
    ``native::t``
    """
    if family and called.endswith("_meta"):
        return f"structured_{family[1]}::meta"
    return f"structured_{impl}::impl" if impl else f"native::{called}"


def _operators_in(piece: Piece) -> Iterator[Call]:
    """Yield the operators that a function calls, itself or through others of its module."""
    known = operators()
    texts = "\n".join(part.text for part in _with_helpers(piece))
    for identifier in dict.fromkeys(re.findall(r"\bops\.(\w+)\.call\b", texts)):
        yield Call(f"calls aten::{known.get(identifier, identifier)}")


def _with_helpers(piece: Piece) -> Iterator[Piece]:
    seen, left = {piece.line}, [piece]
    while left:
        here = left.pop()
        yield here
        for name in dict.fromkeys(re.findall(r"(?<![.\w])(\w+)\(", here.text)) if here.file else ():
            helper = definition(here.file, name)
            if helper is not None and helper.line not in seen and helper.text.startswith("def "):
                seen.add(helper.line)
                left.append(helper)


def _node(function: Function) -> Call:
    formulas = tuple(_formulas(function.here)) or tuple(_operators_in(function.here))
    return Call(function.name, _short(function.pytorch), formulas)


def _formulas(piece: Piece) -> Iterator[Call]:
    """Yield a call for each gradient: the Python code of the formula, the operators that it calls, the functions and
    their calls.
    """
    edges = re.search(r"edge_names = \((.*?)\)", piece.text)
    names = re.findall(r'"(\w+)"', edges[1]) if edges else []
    parts = re.split(r"^        if self\.task_should_compute_output(?:_any)?\((.*)\):$", piece.text, flags=re.MULTILINE)
    for asked, code in zip(parts[1::2], parts[2::2], strict=True):
        given = ", ".join(names[int(at)] for at in asked.split(",")) if names else asked
        formula = " ".join(code.partition("        return grad_inputs")[0].split())
        formula = formula.replace("( ", "(").replace(" )", ")")  # long lines were wrapped
        within = (*_operators_in(Piece("", 0, formula)), *_manual_functions(formula))
        yield Call(f"{given}: {formula.partition(' = ')[2]}", "", within)


def _manual_functions(formula: str) -> Iterator[Call]:
    for name in dict.fromkeys(re.findall(r"(?<![.\w])(\w+)\(", formula)):
        if (piece := formula_function(name)) is not None:
            yield Call(name, piece.location, tuple(_operators_in(piece)))


def _short(place: str) -> str:
    """Return the file without its folders, and the line."""
    return place.rpartition("/")[2].partition(":")[0]
