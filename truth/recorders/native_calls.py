"""The functions that meta and impl functions call: ``dispatchviz/explain/locations/native_calls.txt``.

They are read from the code of ``libtorch_cpu.so`` (``elf_symbols.py``), of an installed PyTorch of the modeled release
for Linux on x86-64. For a meta function these are the functions that build its TensorIterator, for an impl function of
the CPU the stubs, including those in inlined code.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from truth.recorders.native_files import STRUCTURED, library

TARGET = Path(__file__).parents[2] / "dispatchviz" / "explain" / "locations" / "native_calls.txt"

BUILDS = r"^_ZN2at18TensorIteratorBase\d+build\w*E"
STUBS = r"^_ZN2at6native\d+\w+_stubE$"


def calls() -> dict[str, set[str]]:
    """The last part of the names of the called functions, by function without its namespace."""
    found = library()
    addresses = found.addresses(f"{BUILDS}|{STUBS}")
    known: dict[str, set[str]] = {}
    for function in found.functions:
        if structured := STRUCTURED.fullmatch(function.name):
            kind = "build" if structured[1].endswith("::meta") else "_stub"
            reached = {name.rpartition("::")[2] for name in found.reached(function, addresses)}
            known.setdefault(structured[1], set()).update(name for name in reached if kind in name)
    return {name: called for name, called in known.items() if called}


def lines(found: dict[str, set[str]]) -> Iterator[str]:
    """Yield lines of the form ``function: called called``."""
    return (f"{name}: {' '.join(sorted(found[name]))}" for name in sorted(found))


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield TARGET, "\n".join(lines(calls())) + "\n"
