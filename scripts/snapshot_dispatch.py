"""Writes what an installed PyTorch has registered for some operators, and the tables that it computes.

    python scripts/snapshot_dispatch.py [NAME ...]

The operators are those of ``native_functions.yaml``, of ``scripts/snapshot_operators.txt`` and the given ones; a name
without its overload (``add``) stands for all overloads. Needs torch (``make conformance`` has one). Writes

    dispatchviz/core/native/registrations.json   package data: schemas, registrations, backend fallbacks
    tests/data/dispatch_tables.json.gz           the computed table of each operator, cell by cell

A registration is [key, debug, flags], keys and debug texts by number, in the order of PyTorch's dump. Flags: 1 boxed,
2 unboxed, 4 fallthrough, 8 it has a C++ signature. Debug texts name files as they are in PyTorch's source tree.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any

import torch
import torchgen
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import NativeFunctionsGroup

C: Any = torch._C
ROOT = Path(__file__).parent.parent
YAML = ROOT / "dispatchviz/core/native/native_functions.yaml"
NAMES = ROOT / "scripts/snapshot_operators.txt"
PACKAGE = ROOT / "dispatchviz/core/native/registrations.json"
TABLES = ROOT / "tests/data/dispatch_tables.json.gz"
FLAGS = {"boxed": 1, "unboxed": 2, "fallthrough": 4}
TYPED = 8

_ROW = re.compile(
    r"(?P<key>\w+)(?:\[alias\])?(?: \(inactive\))?: (?P<debug>.*?) :: (?P<schema>.*) \[(?P<flags>[^\[\]]*)\]$"
)
_CELL = re.compile(r"(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<debug>.*) \[(?P<reason>[^\]]*)\]$")


class Interned:
    """Texts by number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def operator_names(given: list[str]) -> list[str]:
    """Full names of the wanted operators, in order."""
    exact = {f"aten::{name}" for name in re.findall(r"^- func: ([\w.]+)\(", YAML.read_text(), re.M)}
    bases = {f"aten::{name}" for name in [*NAMES.read_text().split(), *given]}
    registered = set(C._dispatch_get_all_op_names())
    if unknown := sorted(exact - registered) + sorted(bases - {name.partition(".")[0] for name in registered}):
        raise SystemExit(f"this PyTorch has no operator {', '.join(unknown)}")
    return sorted(name for name in registered if name in exact or name.partition(".")[0] in bases)


def structured_names() -> set[str]:
    """Operators with a structured kernel, out, functional and in-place ones."""
    native = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    groups = [g for g in get_grouped_native_functions(parsed.native_functions) if isinstance(g, NativeFunctionsGroup)]
    members = (function for group in groups if group.structured for function in group.functions())
    return {f"aten::{f.func.name}" for f in members if f.structured or f.structured_delegate is not None}


def normalised(debug: str) -> str:
    """Without the folders of the machine that built or runs PyTorch."""
    debug = re.sub(r"registered at \S*?/((?:aten|build|torch|caffe2|functorch)/)", r"registered at \1", debug)
    return re.sub(r"registered at /\S*/site-packages/", "registered at ", debug)


def registrations(name: str, key: Interned, debug: Interned) -> list[list[int]]:
    """[key, debug, flags] of every kernel of an operator."""
    rows = (_ROW.fullmatch(line) for line in C._dispatch_dump(name).splitlines())
    return [[key(row["key"]), debug(normalised(row["debug"])), flags_of(row)] for row in rows if row is not None]


def flags_of(row: re.Match[str]) -> int:
    """As one number."""
    return sum(FLAGS[word] for word in row["flags"].split()) + TYPED * (row["schema"] != "(none)")


def table(name: str, debug: Interned) -> dict[str, list[Any]]:
    """Runtime key -> [debug, reason, fallthrough] of every valid cell."""
    cells = (_CELL.fullmatch(line) for line in C._dispatch_dump_table(name).splitlines())
    return {
        cell["key"]: [debug(normalised(cell["debug"])), cell["reason"], bool(cell["fallthrough"])]
        for cell in cells
        if cell is not None
    }


def fallbacks(key: Interned, debug: Interned) -> list[list[int]]:
    """[key, debug, flags] of every backend fallback: the table of an operator without kernels."""
    library = C._dispatch_library("FRAGMENT", "dispatchviz_snapshot", "")
    library.def_("empty_operator(Tensor self) -> Tensor", "")
    cells = table("dispatchviz_snapshot::empty_operator", debug)
    del library
    return [[key(name), text, 5 if through else 1] for name, (text, _, through) in cells.items()]


def schema_of(name: str) -> str:
    """As PyTorch prints it."""
    return next(
        line.removeprefix("schema: ") for line in C._dispatch_dump(name).splitlines() if line.startswith("schema: ")
    )


def dumps(name: str) -> list[str]:
    """Both dumps of an operator."""
    return [normalised(C._dispatch_dump(name)), normalised(C._dispatch_dump_table(name))]


def all_schemas() -> list[str]:
    """Of every operator that this PyTorch has."""
    return [schema for name in C._dispatch_get_all_op_names() if (schema := schema_of(name)) != "(none)"]


def package_data(names: list[str]) -> dict[str, Any]:
    """What the product needs."""
    key, debug, structured = Interned(), Interned(), structured_names()
    operators = {name: [schema_of(name), name in structured, registrations(name, key, debug)] for name in names}
    found = {"torch": torch.__version__.partition("+")[0], "fallbacks": fallbacks(key, debug), "operators": operators}
    return found | {"keys": list(key.texts), "debug": list(debug.texts)}


def test_data(names: list[str]) -> dict[str, Any]:
    """What its tests compare with."""
    debug = Interned()
    tables = {name: table(name, debug) for name in names}
    schemas = {name: schema_of(name) for name in names}
    return {
        "torch": torch.__version__.partition("+")[0],
        "schemas": schemas,
        "tables": tables,
        "debug": list(debug.texts),
    }


def write_json(path: Path, value: Any) -> None:
    """Compact, one operator a line; compressed if the name says so."""
    text = json.dumps(value, separators=(",", ":")).replace('],"aten::', '],\n"aten::')
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text + "\n")


def main() -> None:
    """Writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="further operators, like add or add.Tensor")
    names = operator_names(parser.parse_args().name)
    write_json(PACKAGE, package_data(names))
    write_json(TABLES, test_data(names))
    print(f"{len(names)} operators of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
