"""The functions that are generated for an operator, each with its file in PyTorch, in the order in which a call uses
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import Struct

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.python_signature import class_name
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.definitions import (
    Piece,
    definition,
    definitions,
    kernel_in,
    line_at,
    mentioning,
    operator_class,
    table,
    text_of,
)
from dispatchviz.explain.codegen.generated_files import placed

K = DispatchKey

_CPU_AND_CUDA = "generated/register_cpu_cuda.py"
"""The folder that both devices share, with nearly all of their kernels."""

TABLES = {
    K.Autograd: ("generated/variable_type.py",),
    K.ADInplaceOrView: ("generated/inplace_or_view.py",),
    K.BackendSelect: ("generated/register_backend_select.py",),
    K.CPU: ("generated/register_cpu.py", _CPU_AND_CUDA),
    K.CUDA: ("generated/register_cuda.py", _CPU_AND_CUDA),
    K.Meta: ("generated/register_meta.py",),
    K.CompositeExplicitAutogradNonFunctional: ("generated/register_composite_explicit_autograd_non_functional.py",),
    K.CompositeExplicitAutograd: ("generated/register_composite_explicit_autograd.py",),
    K.CompositeImplicitAutograd: ("generated/register_composite_implicit_autograd.py",),
}
"""The files where our generator writes the kernels of each key, in the order in which calls meet the keys."""

BINDINGS = {
    "generated/python_bindings.py": "",
    "generated/nn_functions.py": "nn",
    "generated/linalg_functions.py": "linalg",
    "generated/special_functions.py": "special",
}
"""The files where our generator writes bindings, and the module of ``torch`` for those that are not in ``torch``
itself.
"""

NODES = "generated/nodes.py"


MANUAL = ("autograd/kernels/variable_type_manual.py", "autograd/graph/list_nodes.py")
"""The modules with handwritten autograd kernels, and the tables in them."""

MANUAL_TABLES = {K.Autograd: "AUTOGRAD_KERNELS", K.ADInplaceOrView: "INPLACE_OR_VIEW_KERNELS"}


class Function(Struct, frozen=True):
    """A function that a generator writes, here or in PyTorch."""

    role: str
    """The role: ``binding``, ``operator``, ``kernel``, ``node`` or ``schema``."""
    name: str
    """The name in PyTorch: ``VariableType::add_Tensor``."""
    key: str
    """The key that a kernel is registered for; empty for others."""
    pytorch: str
    """The file in PyTorch, with the line if it is known."""
    here: Piece
    """The definition in our sources."""

    @property
    def by_hand(self) -> bool:
        """True if our function is not generated."""
        return not self.here.file.startswith("generated/")


def functions_of(op: OperatorEntry) -> list[Function]:
    """Return all functions that our generator writes for an operator; empty if it has no entry in our yaml file."""
    name = op.name.removeprefix("aten::")
    identifier = name.replace(".", "_")
    operator = operator_class(class_name(op.name))
    if operator is None:
        return []
    base = name.partition(".")[0]
    called = Function("operator", f"at::_ops::{identifier}", "", generated_files.operators_file(base), operator)
    return [*_bindings(name), called, *_kernels(op, name), *_nodes(name), *_schema(op)]


def _bindings(name: str) -> Iterator[Function]:
    """Yield the functions that Python programs call: the tables of signatures that name the operator, and the functions
    that call it.
    """
    for file in BINDINGS:
        yield from _bindings_in(file, name)


def _bindings_in(file: str, name: str) -> Iterator[Function]:
    called = f"ops.{class_name(name)}.call"
    callers = {_defined(piece): piece for piece in mentioning(file, called) if piece.text.startswith("def ")}
    words = re.compile(rf"\b({'|'.join([re.escape(called), *callers])})\b")
    for signatures in mentioning(file, called, *callers):
        if " = Binding(" in signatures.text and (used := set(words.findall(signatures.text))):
            shown = re.search(r'"([\w.]+)\.(\w+)"', signatures.text)
            assert shown is not None
            prefix, base = shown[1], shown[2]
            place = (
                generated_files.method_file()
                if prefix == "Tensor"
                else generated_files.function_file(base, BINDINGS[file])
            )
            yield Function("binding", f"{prefix}.{base}", "", place, signatures)
            for caller in sorted(used - {called}):
                yield Function("binding", f"THPVariable_{base}", "", place, callers[caller])


def _defined(piece: Piece) -> str:
    return piece.text.partition("(")[0].removeprefix("def ")


def kernel_under(key: DispatchKey, name: str) -> Piece | None:
    """Return the kernel that is generated for an operator and a key."""
    found = (kernel_in(file, name) for file in TABLES[key])
    return next((kernel for kernel in found if kernel is not None), None)


def _kernels(op: OperatorEntry, name: str) -> Iterator[Function]:
    for key in TABLES:
        piece = _manual(key, name) or kernel_under(key, name)
        if piece is not None:
            yield Function("kernel", *registration(op, key), piece)


def _manual(key: DispatchKey, name: str) -> Piece | None:
    """Return a handwritten kernel, which takes precedence over a generated one."""
    row = _manual_rows(key).get(name)
    return None if row is None else definition(*row)


@cache
def _manual_rows(key: DispatchKey) -> dict[str, tuple[str, str]]:
    """Return the operators with a handwritten kernel for a key, each with the file and the name of the kernel."""
    tables = [(file, definition(file, MANUAL_TABLES[key])) for file in MANUAL if key in MANUAL_TABLES]
    rows = ((file, row) for file, found in tables if found for row in re.findall(r'"([\w.]+)": (\w+)', found.text))
    return {name: (file, kernel) for file, (name, kernel) in rows}


def is_manual(name: str) -> bool:
    """Return whether an operator's autograd kernel is handwritten."""
    return name in _manual_rows(K.Autograd)


def registration(op: OperatorEntry, key: DispatchKey) -> tuple[str, str, str]:
    """Return the name, key and place of registration of PyTorch's generated kernel for a key.

    At Meta a Python decomposition may have replaced the generated kernel.
    """
    kernels = op.registrations.get(key, [])
    generated = (kernel for kernel in kernels if "build/" in kernel.debug or "generated/" in kernel.debug)
    kernel = next(generated, kernels[0] if kernels else None)
    return ("", str(key), "") if kernel is None else (kernel.name, str(key), placed(kernel.debug))


def node_of(name: str) -> str:
    """Return the Node that an operator's autograd kernel makes; empty if it makes none."""
    kernel = _manual(K.Autograd, name) or kernel_under(K.Autograd, name)
    found = re.search(r"\b(\w+Backward\d+)\(", kernel.text) if kernel else None
    return found[1] if found else ""


@lru_cache(maxsize=512)
def operator_of_node(text: str) -> str:
    """Return the operator whose autograd kernel makes a Node; empty if the text is not the name of a generated Node."""
    node = text.strip().rpartition("::")[2]
    if not re.fullmatch(r"\w+Backward\d+", node):
        return ""
    return next((f"aten::{name}" for name in operators_making(node)), "")


def operators_making(node: str) -> Iterator[str]:
    """Yield the operators, without ``aten::``, whose generated autograd kernels make a Node."""
    (file,) = TABLES[K.Autograd]
    kernels = {_defined(piece) for piece in definitions(file, f"nodes.{node}()")}
    yield from (name for name, kernel in table(file).items() if kernel in kernels)


def _nodes(name: str) -> Iterator[Function]:
    node = node_of(name)
    for file in (NODES, *MANUAL) if node else ():
        piece = definition(file, node)
        if piece is None:
            continue
        yield Function("node", f"{node}::apply", "", generated_files.node_files(name.partition(".")[0])[1], piece)


def _schema(op: OperatorEntry) -> Iterator[Function]:
    file = "generated/register_schema.py"
    text = text_of(file)
    at = text.find(f"{op.schema}")
    if at >= 0:
        start = text.rfind("\n", 0, at) + 1
        piece = Piece(file, line_at(file, at), text[start : text.index("\n", at)])
        yield Function("schema", f'm.def("{op.name.removeprefix("aten::")}")', "", placed(op.debug), piece)
