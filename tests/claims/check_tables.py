"""Checks of dispatch tables, key sets, schemas and bindings.

A registration is tried on a twin: a separate operator with the same registrations for the same keys, whose kernels are
never called.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch

from dispatchviz.core.keys.keys import CELL, DispatchKey
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.explain.sentences.sentence_claims import BindingOf, SchemaOf
from dispatchviz.explain.sentences.table_claims import (
    AliasKeys,
    AutogradKernel,
    BackendKeys,
    CallVisits,
    CellAfter,
    CellHolds,
    FallbackIs,
    FilledCells,
    MissingRaises,
    NamedSet,
    OperatorsRegistered,
    OperatorsServed,
    StaleAfter,
    Unparsable,
)
from tests.claims.checks import Answer, Question, checks, difference
from truth.observers.elf_symbols import Library

BUILD = "cpu" if torch.version.cuda is None else "cuda"
"""The kind of the installed build."""

EMPTY = ("", "missing")

Table = dict[str, tuple[str, str]]
"""Key -> fallthrough or not, reason. Empty entries are left out."""

_ROW = re.compile(r"^(\w+): (fallthrough )?.*\[([a-z ]+)\]$", re.MULTILINE)


def table(operator: str) -> Table | None:
    """Return PyTorch's computed table, or None if it has no such operator."""
    try:
        dump = torch._C._dispatch_dump_table(operator)
    except RuntimeError:
        return None
    return {key: (through.strip(), reason) for key, through, reason in _ROW.findall(dump)}


def _entry(kernel: str, reason: str) -> tuple[str, str]:
    if not kernel:
        return EMPTY
    return ("fallthrough" if kernel == "fallthrough_kernel" else "", reason)


def _of_cuda(operator: str, key: str) -> bool:
    """Return whether an entry exists only in a build with CUDA, which the model is and this PyTorch may not be."""
    return key.endswith("CUDA") and not torch.version.cuda and operator.startswith(("aten::", "prims::"))


@cache
def _pytorchs(operator: str) -> bool:
    """Return whether no program has defined the operator. Meta also has Python kernels of this process."""
    return operator.startswith(("aten::", "prims::"))


@cache
def _table_of_pytorchs(operator: str) -> Table | None:
    """The table of an operator that no program changes."""
    return table(operator)


def _table_then(operator: str, question: Question) -> Table | None:
    """The table at the moment of a question."""
    known = question.shared.tables
    if operator not in known:
        known[operator] = table(operator)
    found: Table | None = known[operator]
    return found


@checks(CellHolds)
def cell_holds(claim: CellHolds, question: Question | None) -> Answer:
    """Check the rule that filled the entry, unless the program changes the operator: the moment is then unknown."""
    if not _pytorchs(claim.operator) or _of_cuda(claim.operator, claim.key):
        return None
    found = _table_of_pytorchs(claim.operator) if question is None else _table_then(claim.operator, question)
    if found is None:
        return "PyTorch has no such operator"
    return difference(_entry(claim.kernel, claim.reason), found.get(claim.key, EMPTY))


@checks(FilledCells)
def filled_cells(claim: FilledCells, question: Question | None) -> Answer:
    """Check an operator that the program defines, if the same statement registers no kernel."""
    if question is not None and not _pytorchs(claim.operator):
        _ = question.pytorch
    found = table(claim.operator)
    if found is None:
        return None
    if not _pytorchs(claim.operator) and any(reason != "backend fallback" for _, reason in found.values()):
        return None
    return difference(claim.cells, len(found))


@checks(SchemaOf)
def schema_of(claim: SchemaOf, question: Question | None) -> Answer:
    """Compare with the schema that PyTorch prints. The operator may be gone after the statement."""
    if question is not None:
        _ = question.pytorch
    name, _, overload = claim.operator.partition(".")
    try:
        found = torch._C._get_schema(name, overload)
    except RuntimeError:
        return None
    return difference(claim.schema, str(found))


# -- registrations on a twin ------------------------------------------------------------------------------------------


def _never(*_: Any) -> None:
    raise AssertionError("no kernel of a twin is called")


class Twin:
    """An operator with the registrations of another."""

    def __init__(self, operator: str, number: int) -> None:
        self.name = f"twin{number}::f"
        self._define = torch._C._dispatch_library("DEF", f"twin{number}", "")
        self._define.define("f(Tensor x) -> Tensor", "")
        self._kernels: dict[str, list[Any]] = {}
        registered = pytorch_registry(BUILD).find(operator).registrations
        for key, kernels in registered.items():
            for kernel in reversed(kernels):
                self._kernels.setdefault(key.name, []).insert(0, self.register(key.name, kernel.fallthrough))

    def register(self, key: str, fallthrough: bool) -> Any:
        """Register a kernel that is never called. It is gone after ``reset`` of the result."""
        block = torch._C._dispatch_library("IMPL", self.name.partition(":")[0], "")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warns of an existing kernel
            block.impl("f", key, torch.library.fallthrough_kernel if fallthrough else _never, False)
        return block

    def without(self, key: str) -> None:
        """Deregister the active kernel."""
        self._kernels[key][0].reset()

    def again(self, key: str) -> None:
        self._kernels[key][0] = self.register(key, False)


@cache
def twin(operator: str) -> Twin:
    return Twin(operator, twin.cache_info().currsize)


@cache
def after(operator: str, change: str, under: str) -> tuple[Table, bool]:
    """Return the table after a change, and whether PyTorch's own check finds stale entries."""
    of = twin(operator)
    if change == "without":
        of.without(under)
        undo: Callable[[], object] = lambda: of.again(under)  # noqa: E731
    else:
        undo = of.register(under, change == "fallthrough").reset
    try:
        found = table(of.name)
        assert found is not None
        return found, _stale(of.name)
    finally:
        undo()


def _stale(name: str) -> bool:
    try:
        torch._C._dispatch_check_invariants(name)
    except RuntimeError:
        return True
    return False


def _parsed(key: str) -> bool:
    """Return whether Python can register for a key of this name."""
    return torch._C._parse_dispatch_key(key) is not None


@checks(CellAfter)
def cell_after(claim: CellAfter, question: Question | None) -> Answer:
    """Check on the twin, if it has the same table at the beginning."""
    if not _parsed(claim.under) or _of_cuda(claim.operator, claim.key):
        return None
    found, _ = after(claim.operator, claim.change, claim.under)
    kernel = "fallthrough_kernel" if claim.kernel == "fallthrough_kernel" else claim.kernel
    return difference(_entry(kernel, claim.reason), found.get(claim.key, EMPTY))


@checks(StaleAfter)
def stale_after(claim: StaleAfter, question: Question | None) -> Answer:
    """Check that PyTorch's invariant check fails. It does not name the entries."""
    if not _parsed(claim.under):
        return None
    return difference(bool(claim.keys), after(claim.operator, claim.change, claim.under)[1])


# -- calls ------------------------------------------------------------------------------------------------------------


def _argument(type_: str) -> Any:
    plain = {"Tensor": torch.ones(1), "int": 1, "SymInt": 1, "float": 1.0, "Scalar": 1, "bool": False, "number": 1}
    if type_.startswith("Optional"):
        return None
    if type_.startswith("List"):
        return [] if "Tensor" in type_ else [1]
    return plain[type_]


@checks(MissingRaises)
def missing_raises(claim: MissingRaises, question: Question | None) -> Answer:
    """Check by a redispatch with that key alone."""
    name, _, overload = claim.operator.removeprefix("aten::").partition(".")
    op = getattr(getattr(torch.ops.aten, name), overload or "default")
    key = torch._C.DispatchKeySet.from_raw_repr(DispatchKey[claim.key].bits)
    try:
        given = [a for a in op._schema.arguments if not a.has_default_value()]
        positional = [_argument(str(a.type)) for a in given if not a.kwarg_only]
        named = {a.name: _argument(str(a.type)) for a in given if a.kwarg_only}
    except KeyError:
        return None
    try:
        op.redispatch(key, *positional, **named)
    except NotImplementedError as error:
        return difference(claim.message, str(error)[: len(claim.message)])
    except Exception as error:
        return f"raises {error!r}"
    return "raises nothing"


def _tensors() -> dict[str, Callable[[], torch.Tensor]]:
    ones = torch.ones
    return {
        "CPU": lambda: ones(2, 2),
        "Meta": lambda: ones(2, 2, device="meta"),
        "SparseCPU": lambda: ones(2, 2).to_sparse(),
        "SparseCsrCPU": lambda: ones(2, 2).to_sparse_csr(),
        "QuantizedCPU": lambda: torch.quantize_per_tensor(ones(2, 2), 0.1, 0, torch.qint8),
        "MkldnnCPU": lambda: ones(2, 2).to_mkldnn(),
        "NestedTensorCPU": lambda: torch.nested.nested_tensor([ones(2), ones(3)]),
        "SparseMeta": lambda: torch.empty(2, 2, layout=torch.sparse_coo, device="meta"),
    }


@checks(BackendKeys)
def backend_keys(claim: BackendKeys, question: Question | None) -> Answer:
    """Check tensors that can be created without a device of their own."""
    make = _tensors().get(claim.backend)
    if make is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns of quantized and sparse tensors
        return difference(hex(claim.raw), hex(torch._C._dispatch_keys(make()).raw_repr()))


@checks(CallVisits)
def call_visits(claim: CallVisits, question: Question | None) -> Answer:
    """Follow PyTorch's own table, key sets and masks. The reason of an entry says how its kernel continues a call."""
    make = _tensors().get(claim.backend)
    if make is None or not hasattr(torch._C.DispatchKey, claim.backend) or (claim.change and not _parsed(claim.under)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = make()
    cells = after(claim.operator, claim.change, claim.under)[0] if claim.change else table(claim.operator)
    assert cells is not None
    return difference(claim.keys, tuple(_way(torch._C._dispatch_keys(tensor), cells)))


def _way(keys: Any, cells: Table) -> Iterator[str]:
    keys = (keys | torch._C._dispatch_tls_local_include_set()) - torch._C._dispatch_tls_local_exclude_set()
    while True:
        key = keys.highestPriorityTypeId()
        through, reason = cells.get(key.name, EMPTY)
        if through:
            keys = keys.remove(key)
            continue
        yield key.name
        passes = key.name.startswith("Autograd") or key.name == "ADInplaceOrView"
        if not passes or reason in ("missing", "math kernel"):
            return
        view = key.name == "ADInplaceOrView"
        keys = keys & (torch._C._after_ADInplaceOrView_keyset if view else torch._C._after_autograd_keyset)


# -- keys and sets ----------------------------------------------------------------------------------------------------


@checks(AliasKeys)
def alias_keys(claim: AliasKeys, question: Question | None) -> Answer:
    """Compare one key after the other."""
    alias = getattr(torch._C.DispatchKey, claim.alias)
    known = [key.name for key in CELL if hasattr(torch._C.DispatchKey, key.name)]  # Python's enumeration lacks some
    found = [key for key in known if torch._C._dispatch_is_included_in_alias(getattr(torch._C.DispatchKey, key), alias)]
    return difference([key for key in known if key in claim.keys], found)


@checks(NamedSet)
def named_set(claim: NamedSet, question: Question | None) -> Answer:
    of = re.fullmatch(r"FULL_AFTER\((\w+)\)", claim.name)
    if of is not None:
        found = torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, of[1]))
    else:
        found = getattr(torch._C, f"_{claim.name}")
    return difference(hex(claim.raw), hex(found.raw_repr()))


COUNTING = """
import collections, json, re
from truth.observers.torch_of_cpu_builds import torch
found = {"registered": collections.Counter(), "served": collections.Counter()}
under = re.compile(r"^(\\w+)(?:\\[alias\\])?(?: \\(inactive\\))?: ", re.MULTILINE)
for name in torch._C._dispatch_get_all_op_names():
    rows = torch._C._dispatch_dump(name).partition("alias analysis kind")[2].partition("\\n")[2]
    found["registered"].update(set(under.findall(rows)))
    found["served"].update(set(under.findall(torch._C._dispatch_dump_table(name))))
print(json.dumps(found))
"""
"""A program that counts, for each key and alias, the operators with a kernel for it, or in its entry."""


@cache
def _counted() -> dict[str, dict[str, int]]:
    """Run the count in a new process, because Python's modules register more when they are imported."""
    out = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, check=True).stdout
    counted: dict[str, dict[str, int]] = json.loads(out)
    return counted


@checks(OperatorsRegistered)
def operators_registered(claim: OperatorsRegistered, question: Question | None) -> Answer:
    """Check over all operators of a freshly imported PyTorch."""
    if claim.key.endswith("CUDA") and not torch.version.cuda:
        return None
    return difference(claim.operators, _counted()["registered"].get(claim.key, 0))


@checks(OperatorsServed)
def operators_served(claim: OperatorsServed, question: Question | None) -> Answer:
    """Compare the count over the tables of all operators."""
    if claim.key.endswith("CUDA") and not torch.version.cuda:
        return None
    return difference(claim.operators, _counted()["served"].get(claim.key, 0))


@checks(FallbackIs)
def fallback_is(claim: FallbackIs, question: Question | None) -> Answer:
    """Check by the entry of a new operator."""
    block = torch._C._dispatch_library("DEF", "fallbacks", "")
    block.define("f() -> ()", "")
    through, _ = (table("fallbacks::f") or {}).get(claim.key, EMPTY)
    there = claim.key in (table("fallbacks::f") or {})
    block.reset()
    return difference(claim.fallback, through or ("kernel" if there else "none"))


@checks(Unparsable)
def unparsable(claim: Unparsable, question: Question | None) -> Answer:
    return "it can" if _parsed(claim.key) else ""


# -- generated code ---------------------------------------------------------------------------------------------------


@cache
def _python_names() -> bytes:
    return Library(Path(torch.__file__).parent / "lib" / "libtorch_python.so").names


@cache
def _in_pythons_library(name: str) -> bool:
    return f"{len(name)}{name}".encode() in _python_names()


@checks(BindingOf)
def binding_of(claim: BindingOf, question: Question | None) -> Answer:
    """Look for a function of that name among the symbols of PyTorch's Python library."""
    name = claim.name.rpartition("::")[2]
    if not name.startswith("THPVariable_"):
        return None
    return "" if _in_pythons_library(name) else f"there is no function {name}"


@checks(AutogradKernel)
def autograd_kernel(claim: AutogradKernel, question: Question | None) -> Answer:
    """Compare the autograd kernel. A boxed kernel has no signature; Nodes are those that torchgen derives from
    derivatives.yaml.
    """
    if not _pytorchs(claim.operator):
        return None
    if claim.records == "out":
        name, _, overload = claim.operator.partition(".")
        arguments = torch._C._get_schema(name, overload).arguments
        return difference(True, any(a.kwarg_only and a.alias_info and a.alias_info.is_write for a in arguments))
    if claim.records == "not implemented":
        row = re.search(r"^Autograd\[alias\]: .*$", torch._C._dispatch_dump(claim.operator), re.MULTILINE)
        return difference(True, row is not None and row[0].endswith(":: (none) [ boxed ]"))
    found = _nodes().get(claim.operator.removeprefix("aten::"))
    return None if found is None else difference(claim.records, found)


@cache
def _nodes() -> dict[str, str]:
    """Return the Node that each generated autograd kernel creates. An in-place form has that of the functional one."""
    import torchgen
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    folder = Path(torchgen.__file__).parent / "packaged"
    infos, _ = load_derivatives(
        str(folder / "autograd/derivatives.yaml"),
        str(folder / "ATen/native/native_functions.yaml"),
        str(folder / "ATen/native/tags.yaml"),
    )
    plain = {str(schema.name): info.get("Default") for schema, info in infos.items()}
    return {name: info.op for name, info in plain.items() if info is not None and info.op}
