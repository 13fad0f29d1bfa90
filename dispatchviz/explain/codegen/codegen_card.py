"""The contents of ``codegen OP``, as a value."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import implemented, is_structured
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.definitions import DERIVATIVES, FUNCTIONS, Piece, delegating, entry, entry_field, names
from dispatchviz.explain.codegen.generated_calls import Call, call_trees
from dispatchviz.explain.codegen.generated_files import placed
from dispatchviz.explain.codegen.generated_functions import (
    Function,
    functions_of,
    is_manual,
    node_of,
    operators_making,
)
from dispatchviz.explain.codegen.kept_texts import kept
from dispatchviz.explain.codegen.torchgen_parts import in_order
from dispatchviz.explain.codegen.torchgen_texts import Real, RealEntry


class Entry(Struct, frozen=True):
    """A yaml entry, and its relation to the operator."""

    role: str
    here: Piece


class Registered(Struct, frozen=True):
    """A kernel of PyTorch that our generator does not write."""

    key: str
    name: str
    place: str
    runs: bool
    """True if dispatchviz has a function for it, written by hand or created at run time."""


class GeneratedFile(Struct, frozen=True):
    """A file of PyTorch into which its generators write code for the operator."""

    file: str
    what: str
    """The description of that code."""
    lines: int | None = None
    """The number of lines, or None if its text is not known."""
    part: str = ""
    """The part of torchgen that writes it: ``ComputeOperators in torchgen/gen.py``; empty if the text is not known."""
    template: str = ""
    """The template of the file."""


NOT_GENERATED = "torchgen does not generate this binding"
"""The place of a binding that PyTorch writes by hand, or does not have."""


class CodegenCard(Struct, frozen=True):
    """The output of the generators for an operator."""

    operator: str
    schema: str
    build: str
    entries: tuple[Entry, ...]
    """The entries of our yaml files, in PyTorch's grammar and shortened."""
    pytorch_entries: tuple[RealEntry, ...]
    """The complete entries of PyTorch's yaml files; empty if they are not known."""
    group: tuple[str, ...]
    """The operators that torchgen groups with it; empty if there are none, or if they are not known."""
    calls: tuple[Call, ...]
    functions: tuple[Function, ...]
    """The functions that our generator writes, in the order of a call; empty if the operator has no entry in our yaml
    file.
    """
    registered: tuple[Registered, ...]
    files: tuple[GeneratedFile, ...]
    """The files that PyTorch's generators write for it. If the texts are not known, only those that contain no listed
    function.
    """
    texts_known: bool
    """True if the output of the generators is known, so that all files are listed."""

    @property
    def lines(self) -> int:
        """The number of lines in all those files, if it is known."""
        return sum(each.lines or 0 for each in self.files)


def codegen_card(op: OperatorEntry, build: str, real: Real | None = None) -> CodegenCard:
    """Return the card of an operator of ``aten``. The output of a run of torchgen takes precedence over the stored
    texts.
    """
    name = op.name.removeprefix("aten::")
    texts = real or kept(name)
    functions = functions_of(op)
    if texts is not None:
        functions = [_generated(function, texts) for function in functions]
    tensors = any(argument.type.startswith("Tensor") for argument in op.schema.arguments)
    return CodegenCard(
        operator=op.name,
        schema=str(op.schema),
        build=build,
        entries=tuple(entries_of(name)),
        pytorch_entries=texts.entries if texts else (),
        group=texts.group if texts else (),
        calls=tuple(call_trees(name, functions, tensors)) if functions else (),
        functions=tuple(functions),
        registered=tuple(_registered(op, functions)),
        files=tuple(files_in(texts, name) if texts else _files(op, name, functions)),
        texts_known=texts is not None,
    )


def _generated(function: Function, texts: Real) -> Function:
    """Remove PyTorch's file from a binding that PyTorch does not generate."""
    unknown = function.role == "binding" and not texts.of(function.pytorch)
    return replace(function, pytorch=NOT_GENERATED) if unknown else function


def files_in(texts: Real, name: str) -> Iterator[GeneratedFile]:
    """Yield the files that torchgen writes for an operator, in the order in which a call uses them."""
    counts = texts.files()
    names = {"base": name.partition(".")[0], "identifier": name.replace(".", "_"), "node": texts.node}
    for writer, files in in_order(counts):
        what, part = writer.what.format_map(names), f"{writer.part.name} in {writer.part.file}"
        yield from (GeneratedFile(file, what, counts[file], part, writer.template_of(file)) for file in files)


def entries_of(name: str) -> Iterator[Entry]:
    """Yield the entries of an operator in the yaml files. ``name`` is without ``aten::``."""
    own = entry(FUNCTIONS, name)
    if own is None:
        return
    yield Entry("the operator", own)
    delegate = entry_field(own, "structured_delegate")
    if delegate and (family := entry(FUNCTIONS, delegate)) is not None:
        yield Entry("the structured out= variant, whose meta and impl it shares", family)
    if entry_field(own, "structured"):
        for other in delegating().get(name, ()):
            if (piece := entry(FUNCTIONS, other)) is not None:
                yield Entry("a variant that shares its meta and impl", piece)
    yield from _derivative(name)


def _derivative(name: str) -> Iterator[Entry]:
    own = entry(DERIVATIVES, name)
    if own is not None:
        yield Entry("the derivative", own)
        return
    node = node_of(name)
    if node and (partner := _first_of_node(node)) and (piece := entry(DERIVATIVES, partner)) is not None:
        yield Entry(f"the derivative, which it shares with {partner}", piece)


def _first_of_node(node: str) -> str:
    """Return the first operator with a derivative that makes a Node; empty if there is none."""
    makers = frozenset(operators_making(node))
    possible = (name for name in names(DERIVATIVES) if name in makers or is_manual(name))
    return next((name for name in possible if node_of(name) == node), "")


def _registered(op: OperatorEntry, functions: list[Function]) -> Iterator[Registered]:
    """Yield the kernels that are not among the generated functions."""
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
"""The keys whose kernels can be called without the dispatcher: ``at::cpu::add``."""


def _files(op: OperatorEntry, name: str, functions: list[Function]) -> Iterator[GeneratedFile]:
    """Yield files without one of our functions. Most are headers with declarations, which our Python code does not
    need. Empty for operators that torchgen does not define.
    """
    base, identifier = name.partition(".")[0], name.replace(".", "_")
    if "RegisterSchema.cpp" not in op.debug:
        return
    if not functions:
        yield GeneratedFile(placed(op.debug), f'm.def("{name}(...")')
        yield GeneratedFile(generated_files.operators_file(base), f"at::_ops::{identifier}::call and redispatch")
    yield GeneratedFile(generated_files.header(base, "_ops"), f"struct at::_ops::{identifier}")
    yield GeneratedFile(generated_files.header(base, "_native"), "declarations of the functions behind its kernels")
    if is_structured(op.name):
        yield GeneratedFile(generated_files.header(base, "_meta"), "the structured class with its meta function")
    for key, namespace in HEADERS.items():
        kernels = op.registrations.get(DispatchKey[key], [])
        if any(f"/Register{key}_" in kernel.debug for kernel in kernels):
            file = generated_files.header(base, f"_{namespace}_dispatch")
            yield GeneratedFile(file, f"at::{namespace}, which calls its {key} kernel directly")
    yield GeneratedFile(f"{generated_files.ATEN}/RedispatchFunctions.h", f"at::redispatch::{base}")
    yield from _by_entry(name, base)


def _by_entry(name: str, base: str) -> Iterator[GeneratedFile]:
    """Yield the files that follow from our entry."""
    variants = _field(name, "variants")
    if "function" in variants or not variants:
        what = f"at::{generated_files.root_name(base)} and the other C++ functions of the family"
        yield GeneratedFile(generated_files.header(base), what)
    if "method" in variants:
        yield GeneratedFile(f"{generated_files.ATEN}/core/TensorBody.h", f"Tensor::{base}")
    if node := node_of(name):
        declared, _, python = generated_files.node_files((_first_of_node(node) or name).partition(".")[0])
        yield GeneratedFile(declared, f"struct {node}")
        yield GeneratedFile(python, f"{node} as Python sees it, with its _saved_ properties")


def _field(name: str, field: str) -> str:
    own = entry(FUNCTIONS, name)
    return "" if own is None else entry_field(own, field)
