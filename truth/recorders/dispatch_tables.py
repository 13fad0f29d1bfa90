"""The registrations of an installed PyTorch, and digests of its computed dispatch tables.

They cover every operator, with nothing but torch imported, in two files:

    dispatchviz/core/native/registrations.txt   package data: schemas, registrations, backend fallbacks, owners
    truth/records/dispatch_tables.json.gz       the tables: a digest of each, some in full, entry by entry

A CUDA build, which needs no GPU for this, is enough: ``truth/observers/builds.py`` has the rule that separates its
additional registrations. A CPU build cannot measure them. It keeps those of the file, or takes torchgen's if the file
is of another release. The second file has the tables of the build that ran, and says which one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from truth import records
from truth.formats.json_text import json_text
from truth.formats.past_registrations_file import minor, release_of
from truth.formats.registrations_file import PATH, Contents, Operator, Row, read, text
from truth.observers.builds import only_in_cuda_builds
from truth.observers.torch_of_cpu_builds import torch
from truth.observers.torchgen import Generator
from truth.recorders.past_releases import with_release

C: Any = torch._C
BOXED, UNBOXED, FALLTHROUGH, TYPED = 1, 2, 4, 8
FLAGS = {"boxed": BOXED, "unboxed": UNBOXED, "fallthrough": FALLTHROUGH}
RELEASE = torch.__version__.partition("+")[0]
BUILD = "cpu" if torch.version.cuda is None else "cuda"
NO_KEY = "UnknownUnknown"
"""PyTorch's name of a number that no key has."""
MOST_KEYS = 200
"""More than the keys of any release."""
IN_FULL = 13
"""The step by which tables are stored in full, in addition to ``FULL_TABLES``."""
FULL_TABLES = (
    *("aten::add.Tensor", "aten::linear", "aten::matmul", "aten::mul_.Tensor", "aten::randn", "aten::reshape"),
    *("aten::sum", "aten::view"),
)
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


def numbers() -> list[str]:
    """The names of all keys by number, up to the last alias."""
    named = [C._dispatch_key_name(C.DispatchKey(number)) for number in range(MOST_KEYS)]
    return named[: 1 + max(place for place, name in enumerate(named) if name != NO_KEY)]


def members() -> dict[str, list[str]]:
    """The runtime keys of each alias, low to high."""
    keys = {name: C.DispatchKey(number) for number, name in enumerate(numbers())}
    full = C._dispatch_keyset_to_string(C._dispatch_keyset_full())
    runtime = full.removeprefix("DispatchKeySet(").removesuffix(")").split(", ")
    aliases = [name for name, key in keys.items() if name != NO_KEY and C._dispatch_is_alias_key(key)]
    return {
        alias: [key for key in runtime if C._dispatch_is_included_in_alias(keys[key], keys[alias])] for alias in aliases
    }


def dumps(name: str) -> list[str]:
    """Both dumps of an operator."""
    return [normalized(C._dispatch_dump(name)), normalized(C._dispatch_dump_table(name))]


# -- files ------------------------------------------------------------------------------------------------------------


def contents() -> Contents:
    """The package data: the registrations of a CPU build, and the additional ones of a CUDA build."""
    operators, structured, known = names(), Generator().structured(), known_cuda() if BUILD == "cpu" else {}
    owned = dict(owners(dict.fromkeys(name.partition("::")[0] for name in operators)))
    return Contents(
        RELEASE,
        numbers(),
        members(),
        owned,
        list(fallbacks()),
        [operator(n, n in structured, known.get(n, [])) for n in operators],
    )


def operator(name: str, structured: bool, known: list[Row]) -> Operator:
    """The definition and registrations of an operator. ``known`` has the rows that only a CUDA build could measure.

    Raise ValueError if a CPU build would not have the operator, or has a row that the rule does not give to it.
    """
    facts, found = head(name), list(rows(name))
    cuda = [row for row in found if only_in_cuda_builds(row.debug)]
    if only_in_cuda_builds(facts["debug"]) or (cuda and BUILD == "cpu"):
        raise ValueError(f"{name} contradicts the rule of truth/observers/builds.py")
    alias = facts["alias analysis kind"].removeprefix("FROM_SCHEMA")
    own = [row for row in found if row not in cuda]
    return Operator(facts["schema"], facts["debug"], alias, structured, own, cuda or known)


def known_cuda() -> dict[str, list[Row]]:
    """The additional rows of the CUDA build that was measured last, or torchgen's registrations for another release."""
    before = read() if PATH.exists() else None
    if before is not None and before.torch == RELEASE:
        return {operator.name: operator.cuda for operator in before.operators}
    return {name: [Row(*row) for row in found] for name, found in Generator().cuda().items()}


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
        "build": BUILD,
        "cells": sum(map(len, tables.values())),
        "digests": {name: digest(table) for name, table in tables.items()},
        "tables": {name: table for name, table in tables.items() if name in full},
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """Both files and their texts; before them those of ``past_releases``, if another release is recorded so far."""
    before = PATH.read_text("utf-8") if PATH.exists() else ""
    if before and minor(release_of(before)) != minor(RELEASE):
        yield from with_release(before, records.read("dispatch_tables"))
    yield PATH, text(contents())
    yield records.HERE / "dispatch_tables.json.gz", json_text(test_data())
