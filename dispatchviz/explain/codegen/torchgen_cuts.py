"""The part of torchgen's files that belongs to one operator, cut out of a folder of torchgen's output.

Complete definitions are taken, which are found by their beginnings. Left out are rows of plain lists
(``ATenOpList.cpp``), files that only include others (``NativeFunctions.h``) and the unity files
(``RegisterCPUEverything.cpp``).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import is_structured
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.cpp_blocks import blocks
from dispatchviz.explain.codegen.torchgen_texts import RealPiece


def pieces_of(op: OperatorEntry, folder: Path) -> Iterator[RealPiece]:
    """Yield the operator's part of every file in ``folder/aten`` and ``folder/autograd``."""
    node = _node(op, folder)
    for path, place in files_of(op, folder):
        text = _text(path)
        found = [*_begun(op, node, path.name, text), *_api(op, path.name, text), *_whole(op, path.name, text)]
        yield from (RealPiece(place, block) for block in (*_structs(text, found), *found))


def _node(op: OperatorEntry, folder: Path) -> str:
    """Return the Node that its autograd kernel makes; empty if it makes none."""
    for path, _ in generated_files_in(folder):
        if path.name.startswith("VariableType_"):
            for kernel in _begun(op, "", path.name, _text(path)):
                if made := re.search(r"_ptr<(\w+)> grad_fn;", kernel):
                    return made[1]
    return ""


@lru_cache(maxsize=256)
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def files_of(op: OperatorEntry, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that may contain code for an operator, with their names in PyTorch's build."""
    for path, place in generated_files_in(folder):
        if path.parent.name != "ops" or _is_header_of(op, path.name):
            yield path, place


@lru_cache(maxsize=2)
def generated_files_in(folder: Path) -> list[tuple[Path, str]]:
    """Return the C++ files of both generators, with their names in PyTorch's build."""
    return [
        (path, f"{prefix}/{path.relative_to(below).as_posix()}")
        for below, prefix in ((folder / "aten", generated_files.ATEN), (folder / "autograd", generated_files.AUTOGRAD))
        for path in sorted(below.rglob("*"))
        if path.suffix in (".cpp", ".h", ".cu") and "Everything" not in path.name and path.parent.name != "templates"
    ]


def _is_header_of(op: OperatorEntry, file: str) -> bool:
    """Return whether a file is one of the operator's headers, such as ``add_ops.h``. There are thousands of headers."""
    return re.fullmatch(rf"{re.escape(_family(op))}(?:_ops|_native|_meta|_[a-z]+_dispatch)?\.h", file) is not None


def _family(op: OperatorEntry) -> str:
    return generated_files.root_name(op.name.removeprefix("aten::").partition(".")[0])


def _begun(op: OperatorEntry, node: str, file: str, text: str) -> Iterator[str]:
    """Yield definitions that are found by their first line."""
    if file == "Functions.h" and node and (at := text.find(f"#ifdef _WIN32\nstruct {node} ")) >= 0:
        yield text[at : text.index("\n};", at) + 3]
    if file == "FunctionalInverses.h":
        identifier = op.name.removeprefix("aten::").replace(".", "_")
        yield from re.findall(rf"^static .* {re.escape(identifier)}_inverse\(.*;$", text, re.MULTILINE)
    for head in _heads(op, node, file):
        yield from blocks(text, head)


def _api(op: OperatorEntry, file: str, text: str) -> Iterator[str]:
    """Yield the C++ functions and methods that call ``at::_ops::X``, each up to an empty line."""
    identifier = op.name.removeprefix("aten::").replace(".", "_")
    if file in ("RedispatchFunctions.h", "TensorBody.h", f"{_family(op)}.h"):
        called = "redispatch" if file == "RedispatchFunctions.h" else "call"
        chunks = re.finditer(rf"at::_ops::{re.escape(identifier)}::{called}\(", text)
        bounds = {(text.rfind("\n\n", 0, found.start()) + 2, text.find("\n\n", found.end())) for found in chunks}
        for start, end in sorted(bounds):
            yield textwrap.dedent(text[start:end].partition("\n} // namespace")[0]).strip("\n")


def _whole(op: OperatorEntry, file: str, text: str) -> Iterator[str]:
    """Yield the files that belong only to the family: the impl functions that torchgen writes, and declarations of the
    others.
    """
    family = re.escape(_family(op))
    if is_structured(op.name) and re.fullmatch(rf"Ufunc(?:CPU|CPUKernel|CUDA)_{family}\.(?:cpp|cu)", file):
        yield re.sub(r"\n{2,}", "\n\n", text[text.index("namespace at {") :].strip())
    if file.endswith("_meta.h") and is_structured(op.name):
        yield _inside(text, "meta")
    if file.endswith("_native.h"):
        yield _inside(text, "native") or "// nothing is declared for this family"
    if (key := re.fullmatch(rf"{family}_([a-z]+)_dispatch\.h", file)) and (declared := _inside(text, key[1])):
        yield declared


def _inside(text: str, namespace: str) -> str:
    """Return the declarations of a header in a namespace."""
    return text.partition(f"namespace {namespace} {{\n")[2].partition("\n} // namespace")[0].strip()


def _structs(text: str, found: list[str]) -> Iterator[str]:
    """Yield the classes of the structured kernels that wrappers create, which show where outputs come from."""
    for block in found:
        for name in dict.fromkeys(re.findall(r"^(structured_\w+) op\b", block, re.MULTILINE)):
            yield from blocks(text, rf"^struct {name}\b")


_FIRST = r"(?:c10::DispatchKeySet|const|at::|c10::|int|double|bool|::std)"
"""The beginnings of a kernel's argument list."""


def _heads(op: OperatorEntry, node: str, file: str) -> Iterator[str]:
    """Yield regular expressions for the code that a file may have for the operator. Those for big files begin with
    fixed text, which makes the search fast.
    """
    stem = re.sub(r"(_\d+)?\.\w+$", "", file)
    name = op.name.removeprefix("aten::")
    if stem.startswith("Regist") or stem in ("VariableType", "ADInplaceOrViewType", "TraceType"):
        yield from _registering(op, name, stem)
    elif stem.startswith("python_"):
        yield from _python(name, node, stem)
    elif stem == "Functions" and node:
        if file == "Functions.cpp":
            yield rf" {node}(?:::\w+|_apply_functional|_apply_functional_ivalue)\(.*\)? ?(?:const )?\{{?$"
    else:
        yield from _others(name, stem, file)


def _registering(op: OperatorEntry, name: str, stem: str) -> Iterator[str]:
    """Yield the expressions for files with kernels and their registrations."""
    base, _, overload = name.partition(".")
    out = "_out" if any(argument.is_out for argument in op.schema.arguments) else ""
    called = re.escape(f"{base}{out}_{overload}" if overload else f"{base}{out}")
    if stem == "RegisterSchema":
        yield rf'm\.def\("{re.escape(name)}\('
    elif stem == "RegistrationDeclarations":
        yield rf'"schema": "aten::{re.escape(name)}\('
    elif stem == "RegisterBackendSelect":
        yield rf" {called}\({_FIRST}"
        yield rf'm\.impl\("{re.escape(name)}",'
    elif stem == "RegisterFunctionalization" or not stem.startswith("Register"):
        yield rf" {called}\(c10::DispatchKeySet "
        yield rf'm\.impl\("{re.escape(name)}",'
    else:
        key = stem.removeprefix("Register")
        yield rf" wrapper_{key}_(?:{called}|{re.escape(overload)}_{re.escape(base + out)})\("
        yield rf'm\.impl\("{re.escape(name)}",'


def _python(name: str, node: str, stem: str) -> Iterator[str]:
    """Yield the expressions for the code that Python uses: functions, methods, Nodes."""
    base = re.escape(name.partition(".")[0])
    if stem == "python_functions":
        if node:
            yield rf"static PyObject\* THP{node}_\w+\("
            yield rf"static struct PyGetSetDef {node}_properties\b"
            yield rf"  addClass<{node}>\("
    elif stem == "python_return_types":
        yield rf"PyTypeObject\* get_{base}(?:_out)?_structseq\(\) \{{"
    elif stem.endswith(("_functions", "_methods")):
        yield rf"static PyObject \* THPVariable_{base}\(.*\{{?$"
        yield rf'  \{{"{base}", '


def _others(name: str, stem: str, file: str) -> Iterator[str]:
    """Yield the expressions for entry points, the meta class, views, vmap and factories."""
    (base, _, overload), identifier = name.partition("."), re.escape(name.replace(".", "_"))
    if stem == "Operators":
        yield rf" create_{identifier}_typed_handle\(\) \{{"
        yield rf" {identifier}::(?:call|redispatch)\("
    elif file.endswith("_ops.h"):
        yield rf"^struct TORCH_API {identifier} "
    elif stem == "VmapGeneratedPlumbing":
        yield rf" {identifier}_generated_plumbing\("
    elif stem == "ViewMetaClasses":
        yield rf"^struct TORCH_API {identifier}_ViewMeta\b"
        yield rf"\b{identifier}_ViewMeta::\w+\("
    elif stem == "ViewFuncs":
        view = re.escape("".join(part[:1].upper() + part[1:] for part in re.split("_", name.replace(".", "_"))))
        yield rf"^struct {view}ViewFunc\b"
        yield rf"\b{view}ViewFunc::[\w()]+\("
    elif stem == "CompositeViewCopyKernels" and (base.endswith("_copy") or overload.endswith("out")):
        yield rf"^\S.* {identifier}(?:_symint)?\({_FIRST}"
    elif stem == "variable_factories":
        yield rf"^inline at::Tensor {re.escape(base)}(?:_symint)?\("
