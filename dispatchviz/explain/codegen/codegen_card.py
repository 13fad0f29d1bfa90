"""All that ``codegen OP`` shows, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import implemented, is_structured
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.definitions import DERIVATIVES, FUNCTIONS, Piece, delegating, entry, entry_field, names
from dispatchviz.explain.codegen.generated_calls import Call, call_trees
from dispatchviz.explain.codegen.generated_functions import Function, functions_of, node_of, placed


@dataclass(frozen=True, slots=True)
class Entry:
    """A yaml entry, and what it is to the operator."""

    role: str
    here: Piece


@dataclass(frozen=True, slots=True)
class Registered:
    """A kernel of PyTorch's that our generator does not write."""

    key: str
    name: str
    place: str
    runs: bool
    """dispatchviz has a function for it, written by hand or made at run time."""


@dataclass(frozen=True, slots=True)
class CodegenCard:
    """What the generators make of an operator."""

    operator: str
    schema: str
    build: str
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    functions: tuple[Function, ...]
    """What our generator writes, in the order of a call; empty if the operator has no entry in our yaml file."""
    registered: tuple[Registered, ...]
    files: tuple[tuple[str, str], ...]
    """Other files that PyTorch's generators write for it, and what stands in them."""


def codegen_card(op: OperatorEntry, build: str) -> CodegenCard:
    """The card of an operator of ``aten``."""
    name = op.name.removeprefix("aten::")
    functions = functions_of(op)
    tensors = any(argument.type.startswith("Tensor") for argument in op.schema.arguments)
    return CodegenCard(
        operator=op.name,
        schema=str(op.schema),
        build=build,
        entries=tuple(entries_of(name)),
        calls=tuple(call_trees(name, functions, tensors)) if functions else (),
        functions=tuple(functions),
        registered=tuple(_registered(op, functions)),
        files=tuple(_files(op, name, functions)),
    )


def entries_of(name: str) -> Iterator[Entry]:
    """The entries of an operator in the yaml files; ``name`` is without ``aten::``."""
    own = entry(FUNCTIONS, name)
    if own is None:
        return
    yield Entry("the operator", own)
    delegate = entry_field(own, "structured_delegate")
    if delegate and (family := entry(FUNCTIONS, delegate)) is not None:
        yield Entry("the structured out form, whose meta and impl it shares", family)
    if entry_field(own, "structured"):
        for other in delegating().get(name, ()):
            if (piece := entry(FUNCTIONS, other)) is not None:
                yield Entry("a form that shares its meta and impl", piece)
    yield from _derivative(name)


def _derivative(name: str) -> Iterator[Entry]:
    own = entry(DERIVATIVES, name)
    if own is not None:
        yield Entry("the derivative", own)
        return
    node = node_of(name)
    if (partner := _first_of_node().get(node)) and (piece := entry(DERIVATIVES, partner)) is not None:
        yield Entry(f"the derivative, which it shares with {partner}", piece)


@cache
def _first_of_node() -> dict[str, str]:
    """A Node to the first operator with a derivative that makes it."""
    return {node: name for name in reversed([*names(DERIVATIVES)]) if (node := node_of(name))}


def _registered(op: OperatorEntry, functions: list[Function]) -> Iterator[Registered]:
    """What is not among the generated functions."""
    shown, own = {function.pytorch for function in functions}, implemented(op.name)
    for key, kernels in op.registrations.items():
        for kernel in kernels:
            if placed(kernel.debug) not in shown:
                yield Registered(str(key), kernel.name, placed(kernel.debug), key in own and kernel is kernels[0])


HEADERS = {
    "CPU": "cpu",
    "CUDA": "cuda",
    "Meta": "meta",
    "CompositeExplicitAutograd": "compositeexplicitautograd",
    "CompositeExplicitAutogradNonFunctional": "compositeexplicitautogradnonfunctional",
    "CompositeImplicitAutograd": "compositeimplicitautograd",
}
"""Keys whose kernels can be called without the dispatcher: ``at::cpu::add``."""


def _files(op: OperatorEntry, name: str, functions: list[Function]) -> Iterator[tuple[str, str]]:
    """Headers, mostly: they declare, and our Python needs none. Nothing for operators that torchgen does not define."""
    base, identifier = name.partition(".")[0], name.replace(".", "_")
    if "RegisterSchema.cpp" not in op.debug:
        return
    if not functions:
        yield placed(op.debug), f'm.def("{name}(...")'
        yield generated_files.operators_file(base), f"at::_ops::{identifier}::call and redispatch"
    yield generated_files.header(base, "_ops"), f"struct at::_ops::{identifier}"
    yield generated_files.header(base), f"at::{generated_files.root_name(base)} and the family's other C++ functions"
    yield generated_files.header(base, "_native"), "declarations of the functions behind its kernels"
    if is_structured(op.name):
        yield generated_files.header(base, "_meta"), "the structured class with its meta function"
    for key, namespace in HEADERS.items():
        kernels = op.registrations.get(DispatchKey[key], [])
        if any(f"/Register{key}_" in kernel.debug for kernel in kernels):
            yield (
                generated_files.header(base, f"_{namespace}_dispatch"),
                f"at::{namespace}, its {key} kernel called directly",
            )
    yield f"{generated_files.ATEN}/RedispatchFunctions.h", f"at::redispatch::{base}"
    if "method" in _field(name, "variants"):
        yield f"{generated_files.ATEN}/core/TensorBody.h", f"Tensor::{base}"
    module = _field(name, "python_module")
    if module and not any(function.role == "binding" for function in functions):
        yield f"{generated_files.AUTOGRAD}/python_{module}_functions.cpp", f"THPVariable_{base}, its Python binding"
    if node := node_of(name):
        declared, _, python = generated_files.node_files(node)
        yield declared, f"struct {node}"
        yield python, f"{node} as Python sees it, with its _saved_ properties"


def _field(name: str, field: str) -> str:
    own = entry(FUNCTIONS, name)
    return "" if own is None else entry_field(own, field)
