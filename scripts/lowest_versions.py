"""A script that prints pip constraints for every dependency at its lower bound in ``pyproject.toml``.

    python -m scripts.lowest_versions > constraints.txt

They cover the package and the extras that its tests use, but not tools that only check the source. A bound that depends
on the Python version keeps its marker.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("parquet", "png", "test")
_REQUIREMENT = re.compile(r"([\w.-]+)(\[[\w,-]+\])?\s*>=\s*([\w.]+)[^;]*(;.*)?")


def constraints(project: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each dependency. Raise ValueError for one without a lower bound."""
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(text for name in EXTRAS for text in extras[name])]:
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement!r} in {PROJECT.name} has no lower bound: write it as 'name>=version'")
        name, _, version, marker = found.groups()
        yield f"{name}=={version}{marker or ''}"


def main() -> int:
    """Print the constraints."""
    print("\n".join(constraints(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
