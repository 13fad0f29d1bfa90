"""Writes what an installed PyTorch has registered for the model's operators, and the tables that it computes.

    python scripts/snapshot_dispatch.py

Needs torch (``make conformance`` has one) and nothing else. Writes

    dispatchviz/core/native/registrations.json   package data: backend fallbacks, registrations of each operator
    tests/data/dispatch_tables.json.gz           the computed table of each operator, cell by cell

Registrations are lists of [key, debug, flags], newest first under each key; debug texts are interned. Flags: 1 boxed,
2 unboxed, 4 fallthrough.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parent.parent
YAML = ROOT / "dispatchviz/core/native/native_functions.yaml"
PACKAGE = ROOT / "dispatchviz/core/native/registrations.json"
TABLES = ROOT / "tests/data/dispatch_tables.json.gz"
FLAGS = {"boxed": 1, "unboxed": 2, "fallthrough": 4}

_ROW = re.compile(
    r"(?P<key>\w+)(?:\[alias\])?(?: \(inactive\))?: (?P<debug>.*?) :: (?P<schema>.*) \[(?P<flags>[^\[\]]*)\]$"
)
_CELL = re.compile(r"(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<debug>.*) \[(?P<reason>[^\]]*)\]$")


def operator_names() -> list[str]:
    """The operators of the model."""
    return [f"aten::{name}" for name in re.findall(r"^- func: ([\w.]+)\(", YAML.read_text(), re.M)]


def normalised(debug: str) -> str:
    """Without the folders of the machine that built or runs PyTorch."""
    debug = re.sub(r"registered at \S*?/((?:aten|build|torch|caffe2|functorch)/)", r"registered at \1", debug)
    return re.sub(r"registered at /\S*/site-packages/", "registered at ", debug)


class Interned:
    """Texts by number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def registrations(name: str, debug: Interned) -> list[list[Any]]:
    """[key, debug, flags] of every kernel of an operator, in the order of PyTorch's dump."""
    rows = []
    for line in torch._C._dispatch_dump(name).splitlines():
        row = _ROW.fullmatch(line)
        if row is not None:
            flags = sum(FLAGS[word] for word in row["flags"].split())
            rows.append([row["key"], debug(normalised(row["debug"])), flags])
    return rows


def table(name: str, debug: Interned) -> dict[str, list[Any]]:
    """Runtime key -> [debug, reason, fallthrough] of every valid cell."""
    cells: dict[str, list[Any]] = {}
    for line in torch._C._dispatch_dump_table(name).splitlines():
        cell = _CELL.fullmatch(line)
        if cell is not None:
            cells[cell["key"]] = [debug(normalised(cell["debug"])), cell["reason"], bool(cell["fallthrough"])]
    return cells


def fallbacks(debug: Interned) -> list[list[Any]]:
    """[key, debug, flags] of every backend fallback: the table of an operator without kernels."""
    library = torch._C._dispatch_library("FRAGMENT", "dispatchviz_snapshot", "")
    library.def_("empty_operator(Tensor self) -> Tensor", "")
    cells = table("dispatchviz_snapshot::empty_operator", debug)
    del library
    return [[key, text, 5 if through else 1] for key, (text, _, through) in cells.items()]


def write_json(path: Path, value: Any) -> None:
    """Compact, one operator a line; compressed if the name says so."""
    text = json.dumps(value, separators=(",", ":")).replace('},"aten', '},\n"aten').replace(']],"aten', ']],\n"aten')
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text + "\n")


def main() -> None:
    """Writes both files."""
    names = operator_names()
    debug = Interned()
    found = {name: registrations(name, debug) for name in names}
    data = {"torch": torch.__version__.partition("+")[0], "fallbacks": fallbacks(debug), "operators": found}
    write_json(PACKAGE, {**data, "debug": list(debug.texts)})
    debug = Interned()
    schemas = {name: re.search(r"^schema: (.*)$", torch._C._dispatch_dump(name), re.M)[1] for name in names}  # type: ignore[index]
    tables = {name: table(name, debug) for name in names}
    write_json(TABLES, {"torch": data["torch"], "schemas": schemas, "tables": tables, "debug": list(debug.texts)})


if __name__ == "__main__":
    main()
