"""What meta and impl functions call: ``dispatchviz/explain/locations/native_calls.txt``.

Asked of an installed PyTorch for Linux on x86-64, of the release that is modelled: read off the code in its
``libtorch_cpu.so`` (``elf_symbols.py``). Of a meta function the functions that build its TensorIterator, of an impl
function of the CPU the stubs, each as it stands in the code or in what the compiler took into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from truth.recorders.native_files import STRUCTURED, library

TARGET = Path(__file__).parents[2] / "dispatchviz" / "explain" / "locations" / "native_calls.txt"

BUILDS = r"^_ZN2at18TensorIteratorBase\d+build\w*E"
STUBS = r"^_ZN2at6native\d+\w+_stubE$"


def calls() -> dict[str, set[str]]:
    """Function, without its namespace, to the last part of the names of those that it calls."""
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
    """``function: called called``"""
    return (f"{name}: {' '.join(sorted(found[name]))}" for name in sorted(found))


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield TARGET, "\n".join(lines(calls())) + "\n"
