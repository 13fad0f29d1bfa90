"""The stops at which gdb notices calls of an operator: functions of PyTorch's libraries, found by their mangled names.

If a function takes the key set by value, the set is in a register where the function begins (System V ABI for x86-64).
It follows the address of the result, if the result is not a plain value.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from dispatchviz.cli.real_stack.elf_functions import Function, functions_with, is_part
from dispatchviz.core.keys.keys import CELL, DispatchKey
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_registrations
from dispatchviz.explain.calls.binding_frames import pytorch_signature, takes_out
from dispatchviz.explain.calls.kernel_frames import native_function
from dispatchviz.explain.calls.whole_stack import is_in_place
from dispatchviz.explain.cells.operator_names import find_operator
from dispatchviz.explain.cells.pytorch_tables import cell_of, pytorch
from dispatchviz.explain.codegen.definitions import FUNCTIONS, dispatched_to, entry, entry_field
from dispatchviz.explain.keys.key_names import find_key
from dispatchviz.foundation.errors import DispatchvizError

BUILD = "cuda"
"""The build whose registrations have the kernels of both builds."""

REGISTERS = ("rdi", "rsi", "rdx", "rcx")
"""The registers of the first arguments, on x86-64."""

HOLDER = "_ZN5torch4impl8dispatch18PythonKernelHolderclERKN3c1014OperatorHandleENS3_14DispatchKeySetEPSt6vector"
HOLDER_TITLE = "torch::impl::dispatch::PythonKernelHolder::operator()"
ADAPTERS = ("28wrap_kernel_functor_unboxed_", "31make_boxed_from_unboxed_functor")


class Stop(Struct, frozen=True):
    """A function to stop at."""

    library: str
    offset: int
    size: int
    kind: str
    """``call``, ``redispatch``, ``kernel``, ``inner`` (a function that a kernel calls) or ``holder`` (of a Python
    kernel).
    """
    title: str
    register: str
    """The register with the key set; empty if it is not certain."""
    operator: str = ""
    """The register with the address of the operator's handle, at a function that serves all operators."""


def stops_of(operator: str, folder: Path) -> tuple[Stop, ...]:
    """Return the stops of an operator in the libraries of an installed PyTorch."""
    found = [*_python_kernels(folder / "lib" / "libtorch_python.so")]
    if operator in pytorch_operators():
        for name in ("libtorch_cpu.so", "libtorch_cuda.so", "libtorch_hip.so"):
            if (library := folder / "lib" / name).exists():
                found += _operators(operator, library)
    return tuple(found)


def _python_kernels(library: Path) -> Iterator[Stop]:
    for each in functions_with(library, [HOLDER]):
        if each.mangled.startswith(HOLDER) and not is_part(each.mangled):
            yield Stop(str(library), each.offset, each.size, "holder", HOLDER_TITLE, _register(2), _register(1))


def _operators(operator: str, library: Path) -> Iterator[Stop]:
    functions = functions_with(library, _parts(operator))
    for each in functions:
        if not is_part(each.mangled) and (known := _known(operator, each)):
            kind, title, register = known
            yield Stop(str(library), each.offset, each.size, kind, title, register)


def _parts(operator: str) -> list[str]:
    """Return parts of names: each mangled name of the operator's functions contains one."""
    identifiers = {title.rpartition("::")[2] for title in kernels(operator)}
    return [
        f"_ZN2at4_ops{_nested(_class(operator))}",
        *(f"N_1{len(name)}{name}E" for name in sorted(identifiers)),
        *(_start(title) for title in inner_functions(operator)),
    ]


def _known(operator: str, function: Function) -> tuple[str, str, str] | None:
    """Return kind, title and register of a function; None if its name contains one of the parts by chance."""
    mangled, name = function.mangled, _class(operator)
    for how, kind, register in (("call", "call", ""), ("redispatch", "redispatch", _of_set(operator, 0))):
        if mangled.startswith(f"_ZN2at4_ops{_nested(name)}{_nested(how)}E"):
            return kind, f"at::_ops::{name}::{how}", register
    for title in inner_functions(operator):
        if mangled.startswith(_start(title)):
            return "inner", title, ""
    return next((known for title in kernels(operator) if (known := _kernel(operator, title, mangled))), None)


def _kernel(operator: str, title: str, mangled: str) -> tuple[str, str, str] | None:
    """Return kind, title and register of a kernel, or of the adapter that the dispatcher calls; None for other
    functions.
    """
    *spaces, identifier = title.split("::")
    pattern = "".join(map(_nested, spaces)) + f"(?:12_GLOBAL__N_1)+{_nested(identifier)}E(N3c1014DispatchKeySetE)?"
    found = re.search(rf"(?<!\d){pattern}", mangled)
    if found is None or (not spaces and re.search(r"12VariableType|ADInplaceOrView|TraceType", mangled[: found.end()])):
        return None
    if mangled.startswith(tuple(f"_ZN3c104impl{each}I" for each in ADAPTERS)):
        is_boxed = ADAPTERS[1] in mangled[:60]
        return ("kernel", title, _register(2) if is_boxed else _of_set(operator, 1)) if "E4callEP" in mangled else None
    if re.match(r"_ZN(?:2at|5torch)", mangled) and "I" not in mangled[: found.start()]:
        return "kernel", title, _of_set(operator, 0) if found[1] else ""
    return None


def _class(operator: str) -> str:
    return operator.removeprefix("aten::").replace(".", "_")


def _nested(name: str) -> str:
    """Mangle a name: ``3add``."""
    return f"{len(name)}{name}"


def _start(title: str) -> str:
    """Return the beginning of a mangled name: ``_ZN2at6native3sumE``."""
    return f"_ZN{''.join(map(_nested, title.split('::')))}E"


# -- registers --------------------------------------------------------------------------------------------------------


def _register(number: int) -> str:
    return REGISTERS[number] if platform.machine() in ("x86_64", "AMD64") else ""


def _of_set(operator: str, before: int) -> str:
    """Return the register of the key set after ``before`` other arguments; empty if the type of the result leaves that
    open.
    """
    returned = returns_by_address(operator)
    return "" if returned is None else _register(before + returned)


@cache
def returns_by_address(operator: str) -> bool | None:
    """Return whether the operator's functions get the address of their result as the first argument; None if that is
    not certain.

    They do for a Tensor, a vector or a tuple of them, which are not plain values; not for a reference or nothing.
    """
    schema = pytorch_signature(operator)
    if schema is None:
        return None
    types = [str(each.type) for each in schema.returns]
    writes = takes_out(schema) or is_in_place(operator.removeprefix("aten::").partition(".")[0])
    if not types or types == ["Tensor"]:
        return bool(types) and not writes
    return True if all(each in ("Tensor", "Tensor[]") for each in types) and not writes else None


# -- what an operator's kernels are called ----------------------------------------------------------------------------


@cache
def kernels(operator: str) -> tuple[str, ...]:
    """Return the titles of the operator's registered kernels that have names of their own."""
    found = (kernel.name for _, kernel in pytorch_registrations(operator, BUILD) if not kernel.boxed)
    return tuple(dict.fromkeys(name for name in found if re.fullmatch(r"[\w:]+", name)))


@cache
def inner_functions(operator: str) -> tuple[str, ...]:
    """Return the functions that the backend kernels call: native functions, and ``impl`` of structured kernels."""
    natives = (native_function(operator, kernel) for kernel in kernels(operator))
    return (*dict.fromkeys(each[0] for each in natives if each is not None), *_impls(operator))


def _impls(operator: str) -> Iterator[str]:
    own = entry(FUNCTIONS, operator.removeprefix("aten::"))
    delegate = entry_field(own, "structured_delegate") if own is not None else ""
    structured = entry(FUNCTIONS, delegate) if delegate else own
    if structured is None or not entry_field(structured, "structured"):
        return
    for key, name in dispatched_to(structured).items():
        if key in ("CPU", "CUDA"):
            yield f"at::native::structured_{name}::impl"
    if "ufunc_inner_loop" in structured.text:
        base = operator.removeprefix("aten::").partition(".")[0].removesuffix("_")
        yield from (f"at::native::structured_ufunc_{base}_{key}::impl" for key in ("CPU", "CUDA"))


def kernel_at(operator: str, key: DispatchKey) -> str:
    """Return the kernel of an operator for a key. Raise DispatchvizError if no kernel there can be a stop for gdb."""
    op = pytorch(BUILD).find(operator)
    cell = cell_of(op, key)
    if cell.kernel is None or cell.kernel.fallthrough:
        what = "is missing" if cell.kernel is None else "falls through"
        raise DispatchvizError(f"no kernel of {operator} runs for {key.name}: its dispatch table entry {what}")
    if cell.kernel.name.endswith(".py)"):
        return HOLDER_TITLE
    if cell.kernel.name not in kernels(operator):
        raise DispatchvizError(
            f"the kernel of {operator} for {key.name} is {cell.kernel.name}, which gdb cannot find by its name"
        )
    return cell.kernel.name


def operator_and_kernels(text: str, key: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the operator with a name, and its kernel for ``key`` if given. Raise DispatchvizError if either is
    unknown.

    A name in a namespace that PyTorch does not have is accepted as it is, because the program may define it.
    """
    operator = _operator(text)
    if key is None:
        return operator, ()
    if operator not in pytorch_operators():
        raise DispatchvizError(f"--key is for operators of PyTorch, not for {operator}")
    found = find_key(key)
    if found not in CELL:
        raise DispatchvizError(
            f"{found.name} has no dispatch table entry of its own: name a runtime key, such as AutogradCPU or CPU"
        )
    return operator, (kernel_at(operator, found),)


def _operator(text: str) -> str:
    namespace, _, name = text.partition("::")
    if name and not any(each.startswith(f"{namespace}::") for each in pytorch_operators()):
        return text.removesuffix(".default")
    return find_operator(text, pytorch_operators()).name
