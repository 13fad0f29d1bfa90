"""The search for kernel bodies: the module of ``core/native`` that defines the function for a kernel name.

Sources are parsed, not imported, since they import the generated modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dispatchviz.core.codegen.entries import meant
from dispatchviz.core.codegen.model import NativeFunction

FOLDER = Path(__file__).parent.parent / "native"
_DEVICE_SUFFIXES = (
    "_cpu",
    "_cuda",
    "_CPU",
    "_CUDA",
    "_tensorimpl_meta",
    "_tensorimpl",
    "_meta_",
    "_meta",
    "_cuda_",
    "_cpu_",
    "_gpu",
)
"""Suffixes of kernel names. PyTorch has a body for each device, while one body serves all devices here."""


@cache
def _functions() -> dict[str, list[str]]:
    """The modules that define each function, as ``arithmetic.binary_ops``."""
    found: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("*/*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if name := _kernel_name(node):
                found.setdefault(name, []).append(f"{path.parent.name}.{path.stem}")
    return found


def _kernel_name(node: ast.stmt) -> str:
    """The name of a function, or of the kernel that a table assigns (``name: Kernel = ...``); else empty."""
    if isinstance(node, ast.FunctionDef) and not node.name.endswith("__"):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id if ast.unparse(node.annotation) in ("Kernel", "StructuredKernel") else ""
    return ""


FORMULAS = FOLDER.parent / "autograd" / "formulas"
"""The folder of the functions that formulas call."""


@cache
def formula_functions() -> dict[str, str]:
    """The functions that formulas may call, by name, with their module of ``autograd/formulas/``.

    Names that several modules define (helpers) are left out.
    """
    found: dict[str, set[str]] = {}
    for path in sorted(FORMULAS.glob("*.py")):
        for name in _formula_names(path):
            found.setdefault(name, set()).add(path.stem)
    return {name: module for name, (module, *others) in found.items() if not others}


def _formula_names(path: Path) -> Iterator[str]:
    """Yield the names that a module of formulas defines, or reexports from elsewhere (``from x import y as y``)."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and ".autograd.formulas." not in f"{node.module}.":
            yield from (alias.name for alias in node.names if alias.asname == alias.name)


def assigned_keys(path: Path, table: str) -> frozenset[str]:
    """The keys of a module's dictionary, read from its source."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == table:
            assert isinstance(node.value, ast.Dict)
            return frozenset(ast.literal_eval(key) for key in node.value.keys if key is not None)
    raise KeyError(f"{path.name} has no table {table}")


ALIASES = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "special_digamma": "digamma",
    "special_erf": "erf",
    "special_erfc": "erfc",
    "special_erfinv": "erfinv",
    "special_exp2": "exp2",
    "special_expit": "sigmoid",
    "special_expm1": "expm1",
    "special_gammainc": "igamma",
    "special_gammaincc": "igammac",
    "special_gammaln": "lgamma",
    "special_i0": "i0",
    "special_log1p": "log1p",
    "special_logit": "logit",
    "special_logsumexp": "logsumexp",
    "special_multigammaln": "mvlgamma",
    "special_polygamma": "polygamma",
    "special_psi": "digamma",
    "special_sinc": "sinc",
    "subtract": "sub",
    "true_divide": "div",
}
"""Operators that are a second name of another operator with the same overloads, and that operator's base name."""


def alias(function: NativeFunction) -> str:
    """The call of the aliased operator, ``ops.acos_out.call`` for ``arccos.out``; empty if the function is not an
    alias.
    """
    inplace = "_" if function.inplace else ""
    name = ALIASES.get(function.base.removesuffix(inplace), "")
    return name and f"ops.{name}{inplace}{function.identifier.removeprefix(function.base)}.call"


def body(function: NativeFunction, kernel: str) -> str:
    """The function for a kernel name: ``pointwise.ufunc_add`` for ``ufunc_add_CPU``. Raise SpecError if no module
    defines it.
    """
    if alias(function):
        return alias(function)
    overload = function.name.partition(".")[2]
    for name in _spellings(kernel):
        for candidate in (f"{name}_{overload}", name) if overload else (name,):
            if candidate in _functions():
                return f"{_module_of(candidate, function)}.{candidate}"
    raise function.refused(f"no module of native/ defines the kernel {kernel}{meant(kernel, _functions())}")


def meta(family: str, function: NativeFunction) -> str:
    """The meta function of a family, ``pointwise.add_Tensor_meta``."""
    name = f"{family}_meta"
    if name not in _functions():
        raise function.refused(f"no module of native/ defines {name}, the meta function{meant(name, _functions())}")
    return f"{_module_of(name, function)}.{name}"


def _module_of(name: str, function: NativeFunction) -> str:
    """The module that defines a kernel. Raise SpecError if several do."""
    first, *others = _functions()[name]
    if others:
        raise function.refused(f"{' and '.join([first, *others])} of native/ all define {name}: rename the helpers")
    return first.rpartition(".")[2]


def _spellings(kernel: str) -> Iterator[str]:
    yield kernel
    for suffix in _DEVICE_SUFFIXES:
        if kernel.endswith(suffix):
            stem = kernel.removesuffix(suffix)
            yield from (stem, f"{stem}_")
    for inside in ("_cpu_out", "_cuda_out"):
        if kernel.endswith(inside):
            yield f"{kernel.removesuffix(inside)}_out"
    for inside in ("_cpu_backward", "_cuda_backward"):
        if inside in kernel:
            yield kernel.replace(inside, "_backward")


def modules() -> list[str]:
    """The modules that hold kernels, as ``arithmetic.binary_ops``."""
    return sorted({module for defining in _functions().values() for module in defining})
