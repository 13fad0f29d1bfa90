"""The names that a program uses in its own files: the script, and the modules of the user that it imports."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field

from dispatchviz.running.call_sites import is_pythons_file, is_users_file, shown_file, source_of
from dispatchviz.running.engine_choice.names_in_text import Import, NamesInText, Use, names_in
from dispatchviz.running.program_source import Source, working_folder
from dispatchviz.running.torch_names import is_torch

MOST_FILES, MOST_TEXT = 200, 2_000_000
"""The most files and characters that are read; the names in the rest do not choose an engine."""

TESTS = ("test_*.py", "*_test.py")
"""The names of the files in which pytest looks for tests."""

OURS = "dispatchviz"
"""Our own package. A program that imports ``dispatchviz.torch`` itself runs on the model only."""


class PlacedUse(NamedTuple):
    """A use of a name, with its file."""

    name: str
    file: str
    line: int
    """Its line; 0 for the module that ``-m`` runs."""
    surely: bool

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.file}, line {self.line}" if self.line else self.file


class ProgramNames(Struct):
    """The names that a program's own files use."""

    uses: list[PlacedUse] = field(default_factory=list)
    attributes: list[PlacedUse] = field(default_factory=list)
    packages: dict[str, PlacedUse] = field(default_factory=dict)
    """The first import of each installed package, by the package's name."""
    modules: dict[str, ModuleSpec] = field(default_factory=dict)
    """The modules of installed packages that the program imports, by name."""
    defined: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    cuda: list[PlacedUse] = field(default_factory=list)
    is_cut: bool = False
    """True if the program has more files than were read."""
    names_the_model: bool = False
    """True if the program imports the model under its own name."""


class _File(NamedTuple):
    """A file to read."""

    path: str
    shown: str
    text: str
    package: str
    """The package for relative imports."""
    surely: bool
    is_main: bool


def names_of(
    program: Source, known: Mapping[str, str] = MappingProxyType({}), arguments: Sequence[str] = ()
) -> ProgramNames:
    """Read a program's files. A file that Python cannot read has no names: running it will report this.

    ``known`` has the meanings of variables that the program finds: ``F`` -> ``torch.nn.functional``. A module that
    ``-m`` runs, such as ``pytest``, may run the files that its ``arguments`` name, so these are read as well.
    """
    return _Reading(program, known, arguments if program.module else ()).found


class _Reading:
    """The files that are read, those that are left, and the names so far."""

    def __init__(self, program: Source, known: Mapping[str, str], arguments: Sequence[str]) -> None:
        self.found = ProgramNames()
        self._path = [program.folder or working_folder(), *sys.path[1:]]
        self._specs: dict[str, ModuleSpec | None] = {}
        self._known, self._meanings = {program.path}, known
        self._characters = 0
        self._left = deque[_File]()
        self._left.appendleft(self._main(program))
        for path in _files_of(arguments):
            self._known.add(path)
            self._left.append(_File(path, shown_file(path), source_of(path), "", False, False))
        while self._left and len(self._known) <= MOST_FILES and self._characters <= MOST_TEXT:
            self._read(self._left.popleft())
        self.found.is_cut = bool(self._left)

    def _main(self, program: Source) -> _File:
        """Return the program's main file. ``-m`` runs the packages of its module before."""
        is_package = os.path.basename(program.path) == "__main__.py"
        package = program.module if is_package else program.module.rpartition(".")[0]
        main = _File(program.path, program.shown, program.text or "", package, True, True)
        module = program.module if program.text is None else package
        if is_torch(module):
            self.found.uses.append(PlacedUse(module, program.shown, 0, True))
        elif module:
            self._follow(module, Import(module, (), 0, 0, True), main)
        return main

    def _read(self, file: _File) -> None:
        self._characters += len(file.text)
        try:
            names = names_in(file.text, file.is_main, self._meanings if file.is_main else {})
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        self._add(file, names)
        for each in names.imports:
            for module in _imported_modules(each, file.package):
                self._follow(module, each, file)

    def _add(self, file: _File, names: NamesInText) -> None:
        def placed(uses: tuple[Use, ...]) -> Iterator[PlacedUse]:
            return (PlacedUse(each.name, file.shown, each.line, each.surely and file.surely) for each in uses)

        self.found.uses += placed(names.uses)
        self.found.attributes += placed(names.attributes)
        self.found.cuda += placed(names.cuda)
        self.found.defined |= names.defined
        self.found.checked |= names.checked

    def _follow(self, module: str, of: Import, file: _File) -> None:
        """Note a module of an installed package, or read a module of the user's, with the packages that contain it."""
        root = module.partition(".")[0]
        if is_torch(root):  # its names are among the uses
            return
        if root == OURS:
            self.found.names_the_model |= module.startswith(f"{OURS}.torch")
            return
        for spec in self._specs_of(module):
            if self._is_users(spec):
                self._read_later(spec, of.surely and file.surely)
            elif not is_pythons_file(spec.origin or "") and spec.has_location:
                use = PlacedUse(root, file.shown, of.line, of.surely and file.surely)
                self.found.packages.setdefault(root, use)
                self.found.modules[spec.name] = spec

    def _read_later(self, spec: ModuleSpec, surely: bool) -> None:
        path = spec.origin or ""
        if path in self._known or not path.endswith(".py"):
            return
        self._known.add(path)
        package = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
        file = _File(path, shown_file(path), source_of(path), package, surely, False)
        (self._left.appendleft if surely else self._left.append)(file)  # a file that is imported twice runs surely

    @staticmethod
    def _is_users(spec: ModuleSpec) -> bool:
        return spec.has_location and spec.origin is not None and is_users_file(spec.origin)

    # -- where modules are --------------------------------------------------------------------------------------------

    def _specs_of(self, module: str) -> Iterator[ModuleSpec]:
        """Yield the specs of a module and of the packages that contain it, as far as they exist."""
        parts = module.split(".")
        for number in range(1, len(parts) + 1):
            spec = self._spec(".".join(parts[:number]))
            if spec is None:
                return
            yield spec

    def _spec(self, name: str) -> ModuleSpec | None:
        """Find a module without importing its packages."""
        if name not in self._specs:
            package, _, last = name.rpartition(".")
            self._specs[name] = self._found(name, package) if last else None
        return self._specs[name]

    def _found(self, name: str, package: str) -> ModuleSpec | None:
        if package:
            above = self._spec(package)
            folders = None if above is None else above.submodule_search_locations
            return None if folders is None else PathFinder.find_spec(name, list(folders))
        if name in sys.stdlib_module_names and not os.path.exists(os.path.join(self._path[0], f"{name}.py")):
            return None
        return PathFinder.find_spec(name, self._path) or _by_other_finders(name)


def _files_of(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the Python files that arguments name, also as ``test_net.py::test_add``, and the tests in a folder."""
    for argument in arguments:
        path = os.path.abspath(argument.partition("::")[0])
        if path.endswith(".py") and os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            yield from islice((str(file) for pattern in TESTS for file in Path(path).rglob(pattern)), MOST_FILES)


def _by_other_finders(name: str) -> ModuleSpec | None:
    """Find a module of a package that is installed in editable form."""
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _imported_modules(each: Import, package: str) -> Iterator[str]:
    """Yield the modules that an import may load: ``a`` and ``a.b`` for ``from a import b``."""
    module = each.module
    if each.level:
        above = package.split(".")[: len(package.split(".")) - each.level + 1]
        module = ".".join([*above, *([module] if module else [])])
    if module:
        yield module
        yield from (f"{module}.{name}" for name in each.names if name != "*")
