"""PyTorch's own yaml files, which are installed with torchgen, as the texts of their entries."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.torchgen_texts import DERIVATIVES, NATIVE_FUNCTIONS, RealEntry
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.pytorch_release import MINOR

BALLAST = ("abs", "empty", "as_strided", "as_strided_copy")
"""The families that torchgen always gets. It needs at least one derivative, and leaves out keys that no entry names
(``empty`` names Meta, ``as_strided_`` CompositeExplicitAutogradNonFunctional).
"""


def packaged() -> Path:
    """Return the folder with PyTorch's yaml files and templates. Raise DispatchvizError without torchgen."""
    found = importlib.util.find_spec("torchgen")
    if found is None or not found.submodule_search_locations:
        raise DispatchvizError(
            "--real needs torchgen, PyTorch's code generator, which is installed with torch: "
            f"install torch ({MINOR}) for this Python, {sys.executable}, and try again"
        )
    return Path(found.submodule_search_locations[0]) / "packaged"


class Yaml:
    """A yaml file of torchgen as the texts of its entries."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.name = name
        """The name in PyTorch's sources."""
        before, *self.parts = re.split(r"^(?=- )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        self._before = before.count("\n")

    def of_families(self, *stems: str) -> str:
        """Return the entries of the families whose Nodes may have any of the stems, their view copies, and the
        ballast.
        """
        wanted = {*BALLAST}.union(*((stem, f"{stem}_copy", stem.removeprefix("foreach_")) for stem in stems))
        kept = [
            part for part in self.parts if generated_files.root_name(_head(part).partition(".")[0]).strip("_") in wanted
        ]
        return "".join(kept) or "[]"

    def entry(self, name: str, role: str) -> RealEntry | None:
        """Return the entry of an operator, without comments that follow it."""
        return self._entry(self.heads.get(name), role)

    def making(self, name: str, role: str) -> RealEntry | None:
        """Return the entry of another operator from which this one is generated as well."""
        made = re.compile(rf"^  autogen: (?:.*[ ,])?{re.escape(name)}(?:,|\s|$)", re.MULTILINE)
        return self._entry(next((at for at, part in enumerate(self.parts) if made.search(part)), None), role)

    @cached_property
    def heads(self) -> dict[str, int]:
        """The number of the first entry of each operator."""
        return {_head(part): at for at, part in reversed([*enumerate(self.parts)])}

    def _entry(self, at: int | None, role: str) -> RealEntry | None:
        if at is None:
            return None
        line = self._before + sum(part.count("\n") for part in self.parts[:at]) + 1
        return RealEntry(role, self.name, line, re.sub(r"(\n *(#.*)?)+$", "", self.parts[at]))


def _head(part: str) -> str:
    found = re.match(r"- (?:func|name): ([\w.]+)\(", part)
    return found[1] if found else ""


class Entries:
    """The entries of both files."""

    def __init__(self, folder: Path) -> None:
        self.functions = Yaml(folder / "ATen/native/native_functions.yaml", NATIVE_FUNCTIONS)
        self.derivatives = Yaml(folder / "autograd/derivatives.yaml", DERIVATIVES)

    def of(self, name: str) -> Iterator[RealEntry]:
        """Yield the entries of an operator (without ``aten::``), of the out= variant whose meta it shares, and of its
        derivative.
        """
        own = self.functions.entry(name, "the operator")
        own = own or self.functions.making(name, f"the operator that {name} is generated from (autogen:)")
        if own is None:
            return
        yield own
        delegate = re.search(r"^  structured_delegate: (\S+)", own.text, re.MULTILINE)
        if delegate:
            role = "the structured out= variant, whose meta and impl it shares"
            yield from filter(None, [self.functions.entry(delegate[1], role)])
        base, dot, overload = name.partition(".")
        partner = f"{base.removesuffix('_')}{dot}{overload}"
        derivative = self.derivatives.entry(name, "the derivative")
        derivative = derivative or self.derivatives.entry(partner, f"the derivative, which it shares with {partner}")
        yield from filter(None, [derivative])
