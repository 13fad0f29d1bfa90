"""A script that stores the output of torchgen for the examples' operators.

    .venv-torch/bin/python -m scripts.torchgen_texts           write the file (PyTorch 2.14; 2 minutes)
    .venv-torch/bin/python -m scripts.torchgen_texts --check   write nothing; exit status 1 if the file differs

The file is ``dispatchviz/explain/codegen/kept/torchgen_texts.blocks``. All of PyTorch's generated files are written to
a temporary folder. The parts that belong to an operator are kept, for every operator that an example dispatches and all
other variants and overloads of its name.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.codegen.generated_files import root_name
from dispatchviz.explain.codegen.kept_texts import FILE, packed, unpacked
from dispatchviz.explain.codegen.torchgen_cuts import generated_files_in, pieces_of
from dispatchviz.explain.codegen.torchgen_output import generate, groups
from dispatchviz.explain.codegen.torchgen_texts import NATIVE_FUNCTIONS, RealPiece
from dispatchviz.explain.codegen.torchgen_yaml import Entries, packaged
from dispatchviz.running.program import run

EXAMPLES = Path(__file__).parent.parent / "examples"

MORE = (
    *("stack", "hstack", "vstack", "mv", "dot", "outer", "baddbmm", "tan", "log1p", "log2", "erf", "atan2"),
    *("dropout", "native_dropout", "minimum", "maximum", "diag", "diagonal", "repeat", "split_with_sizes", "cumsum"),
    *("var", "std", "prod", "logsumexp", "clamp_max", "softplus", "elu", "hardtanh", "tril", "conv1d", "conv3d"),
    *("set_", "swapaxes", "sign", "lt", "le", "gt", "ge", "logical_and", "logical_not", "nan_to_num", "ones"),
)
"""The families that no example dispatches but many programs do."""


def dispatched() -> set[str]:
    """Return PyTorch's operators that the examples dispatch, without ``aten::``."""
    found: set[str] = set()
    for path in sorted(path for path in EXAMPLES.rglob("*.py") if path.parent.name != "errors"):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = run(str(path)).trace
        found |= {event.operator for event in trace if isinstance(event, Dispatched)}
    return {name.removeprefix("aten::") for name in found if name.startswith("aten::")}


def chosen(entries: Entries) -> list[str]:
    """Return the operators of the same families that have their own entry."""
    families = {_family(name) for name in (*dispatched(), *MORE)}
    known = (name.removeprefix("aten::") for name in pytorch_operators() if name.startswith("aten::"))
    return sorted(name for name in known if name in entries.functions.heads and _family(name) in families)


def _family(name: str) -> str:
    return root_name(name.partition(".")[0])


def everything(entries: Entries, folder: Path) -> list[int]:
    """Return the numbers of entries of the two yaml files, of files written, and of lines in them."""
    lines = [path.read_text(encoding="utf-8").count("\n") for path, _ in generated_files_in(folder)]
    return [len(entries.functions.parts), len(entries.derivatives.parts), len(lines), sum(lines)]


def _alike(piece: RealPiece) -> tuple[str, str]:
    """Return the key that sorts texts of the same kind of file together, which halves the compressed size."""
    folders, _, base = piece.file.rpartition("/")
    ending = re.search(r"(_[a-z]+)?(_dispatch)?\.h$", base)
    kind = (ending[0] if ending else "") if folders.endswith("/ops") else re.sub(r"(_\d+)?\.\w+$", "", base)
    return kind, piece.text


def lines(names: list[str], entries: Entries, folder: Path) -> list[str]:
    """Return the lines of the file."""
    registry, grouped = pytorch("cuda"), groups(folder)
    pieces = {name: list(pieces_of(registry.find(f"aten::{name}"), folder)) for name in names}
    described = {name: list(entries.of(name)) for name in names}
    ours = list(dict.fromkeys(entry.text for of in described.values() for entry in of))
    theirs = sorted({piece for of in pieces.values() for piece in of}, key=_alike)
    texts = {text: number for number, text in enumerate([*ours, *theirs], start=1 + len(names))}
    operators = [
        {
            "entries": [
                (e.role, "functions" if e.file == NATIVE_FUNCTIONS else "derivatives", e.line, texts[e.text])
                for e in described[name]
            ],
            "group": grouped.get(name, ()),
            "pieces": [texts[piece] for piece in pieces[name]],
        }
        for name in names
    ]
    header = {
        "pytorch": importlib.metadata.version("torch").partition("+")[0],
        "everything": everything(entries, folder),
        "operators": names,
    }
    return [json.dumps(item) for item in (header, *operators, *ours, *([piece.file, piece.text] for piece in theirs))]


def made() -> list[str]:
    """Return the current output of torchgen."""
    source = packaged()
    entries = Entries(source)
    names = chosen(entries)
    with tempfile.TemporaryDirectory() as folder:
        generate(source, Path(folder), lambda yaml: "".join(yaml.parts))
        return lines(names, entries, Path(folder))


def main(arguments: list[str]) -> int:
    """Run the command line."""
    new = made()
    file = Path(FILE)
    old = unpacked() if file.exists() else []
    if old == new:
        print(f"{file.name}: still what torchgen writes")
    elif "--check" in arguments:
        print(f"{file.name}: torchgen writes something else")
    else:
        file.write_bytes(packed(new))
        print(f"{file.name}: written, {file.stat().st_size:,} bytes")
    return int(old != new and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
