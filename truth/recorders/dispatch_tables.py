"""The registrations of an installed PyTorch, and digests of its computed dispatch tables.

They cover every operator, with nothing but torch imported. With a CPU build (``make conformance`` has one) these files
are written:

    dispatchviz/core/native/registrations.txt   package data: schemas, registrations, backend fallbacks, owners
    truth/records/dispatch_tables.json.gz       the tables: a digest of each, some in full, entry by entry

The additional registrations of a CUDA build are kept, or taken from torchgen if the file is of another release. With a
CUDA build, which needs no GPU for this, only they are written into the first file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.formats.registrations_file import PATH, Contents, Operator, Row, read, text
from truth.observers.torchgen import Generator

C: Any = torch._C
BOXED, UNBOXED, FALLTHROUGH, TYPED = 1, 2, 4, 8
FLAGS = {"boxed": BOXED, "unboxed": UNBOXED, "fallthrough": FALLTHROUGH}
RELEASE = torch.__version__.partition("+")[0]
IN_FULL = 13
"""The step by which tables are stored in full, in addition to ``FULL_TABLES``."""
FULL_TABLES = (
    *("aten::add.Tensor", "aten::linear", "aten::matmul", "aten::mul_.Tensor", "aten::randn", "aten::reshape"),
    *("aten::sum", "aten::view"),
)
OPTIONAL = "torch/_native/"
"""The folder of Python kernels that are registered only if Triton is installed; they do not depend on the build."""

_ROW = re.compile(
    r"(?P<key>\w+)(?:\[alias\])?(?: \(inactive\))?: (?P<debug>.*?) :: (?P<schema>.*) \[(?P<flags>[^\[\]]*)\]$"
)
_CELL = re.compile(r"(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<debug>.*) \[(?P<reason>[^\]]*)\]$")
_OWNED = re.compile(r"Previous registration of TORCH_LIBRARY was registered at (?P<place>.*); latest")


# -- reading PyTorch --------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The full names of all operators, with overloads of one name in the order in which PyTorch tries them."""
    found = set(C._dispatch_get_all_op_names())
    bases = sorted({name.partition(".")[0] for name in found})
    overloads = ((base, overload) for base in bases for overload in C._jit_get_operation(base)[1])
    ordered = (f"{base}.{overload}" if overload else base for base, overload in overloads)
    return [name for name in ordered if name in found]


def normalized(debug: str) -> str:
    """A text without the folders of the machine that built or runs PyTorch."""
    debug = re.sub(r"registered at \S*?/((?:aten|build|torch|caffe2|functorch)/)", r"registered at \1", debug)
    return re.sub(r"registered at /\S*/site-packages/", "registered at ", debug)


def head(name: str) -> dict[str, str]:
    """``schema``, ``debug`` and ``alias analysis kind`` of an operator's dump."""
    pairs = (line.partition(": ") for line in C._dispatch_dump(name).splitlines()[1:4])
    return {what: normalized(text) for what, _, text in pairs}


def rows(name: str) -> Iterator[Row]:
    """Yield every kernel of an operator."""
    for line in C._dispatch_dump(name).splitlines():
        if row := _ROW.fullmatch(line):
            flags = sum(FLAGS[word] for word in row["flags"].split()) + TYPED * (row["schema"] != "(none)")
            yield Row(row["key"], normalized(row["debug"]), flags)


def cells(name: str) -> dict[str, list[Any]]:
    """The debug text, reason and fallthrough flag of every valid dispatch table entry, by runtime key."""
    found = (_CELL.fullmatch(line) for line in C._dispatch_dump_table(name).splitlines())
    return {c["key"]: [normalized(c["debug"]), c["reason"], bool(c["fallthrough"])] for c in found if c is not None}


def fallbacks() -> Iterator[Row]:
    """Yield every backend fallback, from the dispatch table of an operator without kernels."""
    library = C._dispatch_library("FRAGMENT", "dispatchviz_snapshot", "")
    library.def_("empty_operator(Tensor self) -> Tensor", "")
    found = cells("dispatchviz_snapshot::empty_operator")
    library.reset()
    return (Row(key, debug, BOXED | FALLTHROUGH * through) for key, (debug, _, through) in found.items())


def owners(namespaces: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each namespace with the location of its DEF library, if it has one; a second one is refused."""
    for namespace in namespaces:
        try:
            C._dispatch_library("DEF", namespace, "").reset()
        except RuntimeError as error:
            if owned := _OWNED.search(normalized(str(error))):
                yield namespace, owned["place"]


def dumps(name: str) -> list[str]:
    """Both dumps of an operator."""
    return [normalized(C._dispatch_dump(name)), normalized(C._dispatch_dump_table(name))]


# -- files ------------------------------------------------------------------------------------------------------------


def contents() -> Contents:
    """The package data, as far as this build has it."""
    return measured() if torch.version.cuda is None else with_measured_cuda(read())


def measured() -> Contents:
    """The registrations of a CPU build, and the additional ones of a CUDA build."""
    operators, structured, cuda = names(), Generator().structured(), known_cuda()
    owned = dict(owners(dict.fromkeys(name.partition("::")[0] for name in operators)))
    return Contents(
        RELEASE, owned, list(fallbacks()), [operator(n, n in structured, cuda.get(n, [])) for n in operators]
    )


def operator(name: str, structured: bool, cuda: list[Row]) -> Operator:
    """The definition and registrations of an operator."""
    facts = head(name)
    alias = facts["alias analysis kind"].removeprefix("FROM_SCHEMA")
    return Operator(facts["schema"], facts["debug"], alias, structured, list(rows(name)), cuda)


def known_cuda() -> dict[str, list[Row]]:
    """The additional rows of the CUDA build that was measured last, or torchgen's registrations for another release."""
    before = read() if PATH.exists() else None
    if before is not None and before.torch == RELEASE:
        return {operator.name: operator.cuda for operator in before.operators}
    return {name: [Row(*row) for row in found] for name, found in Generator().cuda().items()}


def with_measured_cuda(cpu: Contents) -> Contents:
    """The contents with the additional registrations of this CUDA build."""
    return cpu._replace(operators=[o._replace(cuda=list(besides(o))) for o in cpu.operators])


def besides(operator: Operator) -> Iterator[Row]:
    """Registrations of an operator in this build that a CPU build does not have."""
    return (row for row in rows(operator.name) if row not in operator.rows and OPTIONAL not in row.debug)


def digest(table: dict[str, list[Any]]) -> str:
    """A digest of the kernel and the reason of every valid dispatch table entry."""
    lines = (f"{key}: {debug} {reason} {through}\n" for key, (debug, reason, through) in table.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def test_data() -> dict[str, Any]:
    """Expected data of tests: digests of all tables, and some tables in full."""
    operators = names()
    full = {*operators[::IN_FULL], *FULL_TABLES}
    tables = {name: cells(name) for name in operators}
    return {
        "torch": RELEASE,
        "cells": sum(map(len, tables.values())),
        "digests": {name: digest(table) for name, table in tables.items()},
        "tables": {name: table for name, table in tables.items() if name in full},
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """Both files and their texts, or the one that a CUDA build adds to."""
    yield PATH, text(contents())
    if torch.version.cuda is None:
        yield records.HERE / "dispatch_tables.json.gz", json_text(test_data())
