"""How a parameter's path is shown: ``head.weight`` where there is one model, ``net.head.weight`` where there are more.

A trace has the path behind the variable of the outermost module. That variable is left out where it says nothing: all
paths of the trace begin with it. It stays in front of ``weight`` and of ``0.weight``, which say little alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


def common_variable(names: Iterable[str]) -> str:
    """The variable with which all paths of a trace begin; empty if there are several, or none.

    One whose module is part of another does not count: ``block``, when ``net.blocks.0`` has the same parameters.
    """
    paths = defaultdict(list)
    for name in names:
        variable, _, path = name.partition(".")
        if "." in path and "[" not in variable:
            paths[variable].append(path)
    within = defaultdict(set)
    for variable, found in paths.items():
        for ending in (ending for path in found for ending in _endings(path)):
            within[ending].add(variable)
    outermost = [one for one, found in paths.items() if any(not within[path] - {one} for path in found)]
    return outermost[0] if len(outermost) == 1 else ""


def short_path(name: str, variable: str) -> str:
    """A path without the variable that all begin with, if it says enough."""
    path = name.removeprefix(f"{variable}.") if variable else name
    return path if "." in path and not path[0].isdigit() else name


def _endings(path: str) -> Iterable[str]:
    parts = path.split(".")
    return (".".join(parts[first:]) for first in range(1, len(parts)))
