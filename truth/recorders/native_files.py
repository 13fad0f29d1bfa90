"""The source file of each meta and impl function: ``dispatchviz/explain/locations/native_files.txt``.

They are read from ``libtorch_cpu.so`` (``elf_symbols.py``), of an installed PyTorch of the modeled release for Linux on
x86-64. If the code of an object names a ``.cpp`` file in its error messages, that is the object's own file. A function
between two functions of one file is in that file too. For the few at the border of two files, the one is chosen in
which all functions of the same operator may be.
"""

from __future__ import annotations

import importlib.util
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from truth.observers.elf_symbols import Function, Library, Object

TARGET = Path(__file__).parents[2] / "dispatchviz" / "explain" / "locations" / "native_files.txt"

NATIVE = "aten/src/ATen/native/"
GENERATED = "structured_ufunc_"
"""The prefix of generated functions; torchgen determines their files."""

STRUCTURED = re.compile(r"at::(?:native|meta)::(structured_\w+::(?:meta|impl))")


def library() -> Library:
    """The library of the installed PyTorch. Raise ModuleNotFoundError without one."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("torch is not installed")
    return Library(Path(found.origin).parent / "lib" / "libtorch_cpu.so")


class Files:
    """The source files of a library's functions, with their folders."""

    def __init__(self, found: Library) -> None:
        self._library = found
        self._paths = _object_paths(found)
        marks = [(address, path) for address, of in found.locals if (path := self._paths.get(of.number))]
        marks += [(function.address, path) for function in found.functions if (path := self.named(function))]
        self._marks = sorted(marks)
        self._addresses = [address for address, _ in self._marks]

    def named(self, function: Function) -> str:
        """The one ``.cpp`` file that its error messages name; empty if there is none."""
        if not function.name.startswith(("at::native::", "at::meta::")):
            return ""
        own = [path for path in self._library.paths_in(function) if path.endswith(".cpp")]
        return own[0] if len(own) == 1 else ""

    def of(self, function: Function) -> set[str]:
        """The file of a function, or the two candidates."""
        if named := self.named(function):
            return {named}
        after = bisect_right(self._addresses, function.address)
        around = {self._marks[at][1] for at in (after - 1, after) if 0 <= at < len(self._marks)}
        return {path for path in around if path.startswith(NATIVE)}


def _object_paths(found: Library) -> dict[int, str]:
    """The path of each object, if known, by number. Objects of a folder are linked in alphabetical order."""
    by_name: dict[str, set[str]] = {}
    for path in found.paths.values():
        by_name.setdefault(path.rpartition("/")[2], set()).add(path)
    many = Counter(of.name for of in found.objects)
    sure = {
        of.number: next(iter(by_name[of.name]))
        for of in found.objects
        if many[of.name] == 1 and len(by_name.get(of.name, ())) == 1
    }
    numbers = sorted(sure)
    others = {of.number: _between(of, sure, numbers) for of in found.objects if of.number not in sure}
    return {number: path for number, path in (sure | others).items() if path}


def _between(of: Object, sure: dict[int, str], numbers: list[int]) -> str:
    """The path of an object that is linked between two of one folder, and so belongs to it; empty otherwise."""
    after = bisect_right(numbers, of.number)
    if not 0 < after < len(numbers):
        return ""
    (before, _, first), (folder, _, last) = (sure[numbers[at]].rpartition("/") for at in (after - 1, after))
    return f"{folder}/{of.name}" if before == folder and first <= of.name <= last else ""


def files_by_function() -> dict[str, str]:
    """The file of each function, by name without namespace. Functions with two candidates left are omitted."""
    found = library()
    files = Files(found)
    known: dict[str, set[str]] = {}
    for function in found.functions:
        if (structured := STRUCTURED.fullmatch(function.name)) and not structured[1].startswith(GENERATED):
            known.setdefault(structured[1], set()).update(files.of(function))
    for family in (_operator, _forward, _stem):
        known |= dict(_settled(known, family))
    return {name: paths.pop() for name, paths in known.items() if len(paths) == 1}


def _settled(known: dict[str, set[str]], family: Callable[[str], str]) -> Iterator[tuple[str, set[str]]]:
    """Resolve two candidate files of a function to the one that its whole family may be in."""
    for name, paths in known.items():
        alike = [others for other, others in known.items() if family(other) == family(name)]
        if len(paths) > 1 and len(common := set.intersection(*alike)) == 1:
            yield name, common


def _operator(name: str) -> str:
    """The operator of a function: ``structured_mm`` for ``structured_mm_out_cpu::impl`` and ``structured_mm::meta``."""
    return re.sub(r"(_structured)?(_out)?(_cpu)?(_out)?::(meta|impl)$", "", name)


def _forward(name: str) -> str:
    """The operator of a function, with backward functions and other overloads combined."""
    return re.sub(r"(_backward)?(_(Scalar|Tensor|dim_int))*$", "", _operator(name))


def _stem(name: str) -> str:
    """The operator of a function, with numbers of dimensions combined."""
    return re.sub(r"\dd(?=_|$)", "", _forward(name))


def lines(found: dict[str, str]) -> Iterator[str]:
    """Yield lines of the form ``path: function function``."""
    for path in sorted(set(found.values())):
        yield f"{path}: {' '.join(sorted(name for name in found if found[name] == path))}"


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield TARGET, "\n".join(lines(files_by_function())) + "\n"
