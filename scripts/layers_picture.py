"""Write docs/layers.svg: the packages of dispatchviz, drawn from the import contracts in pyproject.toml.

python -m scripts.layers_picture
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from itertools import pairwise
from pathlib import Path

from dispatchviz.outputs.picture.graphviz_wasm import layout

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "layers.svg"

_LOOK = """
  bgcolor=white; nodesep=0.15; ranksep=0.28; fontname=Helvetica; fontsize=12; style=rounded; color="#9aa5b1"
  node [shape=box style="rounded,filled" fillcolor="#f6f8fa" color="#9aa5b1" fontname=Helvetica fontsize=11 height=0.3]
  edge [color="#9aa5b1" arrowsize=0.6]
"""


def picture() -> bytes:
    """The picture as SVG: a column for the layers of the package, and one for the layers of ``core``."""
    outer, core = contracts()
    columns = [_column("dispatchviz", "dispatchviz", outer), _column("core", "dispatchviz/core", core)]
    return layout(
        "\n".join(
            [
                "digraph {",
                _LOOK,
                *columns,
                '"dispatchviz/core" -> "dispatchviz/core/wiring" [style=invis constraint=false]',
                "}",
            ]
        )
    )


def contracts() -> tuple[list[list[str]], list[list[str]]]:
    """The layers of the package and those of ``core``, the highest first; the names of one layer in a list."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    layers = [
        each["layers"] for each in tomllib.loads(text)["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    ]
    outer, core = (
        [[name.strip().rpartition(".")[2] for name in re.split(r"[:|]", row)] for row in rows] for rows in layers
    )
    return outer, core


def _column(title: str, folder: str, layers: list[list[str]]) -> str:
    """A cluster with a row for each layer, and arrows from row to row."""
    rows = [[f'"{folder}/{name}"' for name in layer] for layer in layers]
    labels = (
        f'"{folder}/{name}" [label="{name}\\n{_caption(ROOT / folder / name)}"]' for layer in layers for name in layer
    )
    ranks = (f"{{ rank=same; {'; '.join(row)} }}" for row in rows)
    arrows = (f"{upper} -> {lower}" for above, below in pairwise(rows) for upper in above for lower in below)
    return "\n".join([f'subgraph "cluster_{title}" {{ label="{title}"', *labels, *ranks, *arrows, "}"])


def _caption(path: Path) -> str:
    """The first words of a package's docstring, up to its first stop."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    first = re.split(r"[.:;,]\s| \(|\.$", " ".join(docstring.split()).replace("``", ""))[0]
    return "\\n".join(textwrap.wrap(first, 30))


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
