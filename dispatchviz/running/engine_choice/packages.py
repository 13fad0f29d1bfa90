"""Installed packages that need a real PyTorch: their code is not the program's, and the model lacks names that it uses.

A package needs PyTorch if it says so in its metadata, or if it imports torch as soon as it is imported. So does a
package that loads its modules later and offers an extra named after PyTorch. A package that only works with tensors
(``einops``) does not; the modules of it that import torch may use names that the model lacks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.machinery import ModuleSpec

from dispatchviz.running.call_sites import source_of
from dispatchviz.running.engine_choice.model_names import standing
from dispatchviz.running.engine_choice.names_in_text import NamesInText, names_in

WITHOUT_TORCH = frozenset(["numpy", "scipy", "pandas", "matplotlib", "PIL", "sklearn", "tqdm"])
"""Packages that never need PyTorch, so that common programs start without reading their metadata."""

REQUIRES = re.compile(r"(?i)torch(?![\w.-])(?P<marker>.*)")
"""A requirement of PyTorch."""

OF_AN_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<name>[^'\"]+)['\"]")

IMPORTS_TORCH = re.compile(r"^(?:import|from) torch\b", re.MULTILINE)

LOADS_LATER = re.compile(r"^def __getattr__\(|sys\.modules\[__name__\]\s*=", re.MULTILINE)
"""The code of a package that loads its modules when they are first used."""


def needs_torch(package: str, modules: Mapping[str, ModuleSpec]) -> bool:
    """Return whether a package needs PyTorch. ``modules`` are the imported ones, by name, with the package itself."""
    if package in WITHOUT_TORCH:
        return False
    required, extra = _requirements(package)
    text = _text(modules.get(package))
    return (
        required
        or (extra and LOADS_LATER.search(text) is not None)
        or _names(text).torch_at_start
        or any(map(IMPORTS_TORCH.search, _loaded_with(package, modules.get(package), text)))
        or any(_lacks_names(spec) for name, spec in modules.items() if name.startswith(f"{package}."))
    )


def _requirements(package: str) -> tuple[bool, bool]:
    """Return whether a package requires PyTorch, and whether it does so for an extra that is named after PyTorch."""
    try:
        found = [REQUIRES.fullmatch(each) for each in metadata.requires(package) or ()]
    except metadata.PackageNotFoundError:  # the distribution has another name
        return False, False
    markers = [match["marker"] for match in found if match]
    extras = [OF_AN_EXTRA.search(marker) for marker in markers]
    return None in extras, any("torch" in extra["name"].lower() for extra in extras if extra)


def _text(spec: ModuleSpec | None) -> str:
    return source_of(spec.origin or "") if spec is not None and (spec.origin or "").endswith(".py") else ""


def _names(text: str) -> NamesInText:
    """Read a module's text; one that does not mention torch has no names."""
    return _parsed(text if "torch" in text else "")


def _parsed(text: str) -> NamesInText:
    """Read a text. One that Python cannot read has no names."""
    try:
        return names_in(text, is_main=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names_in("", is_main=False)


def _loaded_with(package: str, spec: ModuleSpec | None, text: str) -> Iterator[str]:
    """Yield the texts of the modules that a package imports when it is imported itself."""
    if spec is None or not spec.submodule_search_locations:
        return
    folder = spec.submodule_search_locations[0]
    for each in _parsed(text).imports:
        inside = each.level == 1 or each.module.startswith(f"{package}.")
        parts = each.module.removeprefix(f"{package}.").split(".") if each.module else []
        if inside and each.surely:
            for names in filter(None, (parts, *([*parts, name] for name in each.names))):
                path = os.path.join(folder, *names)
                yield from map(source_of, (f"{path}.py", os.path.join(path, "__init__.py")))


def _lacks_names(spec: ModuleSpec) -> bool:
    """Return whether a module uses names that the model lacks."""
    names = _names(_text(spec))
    return names.torch_at_start and any(
        standing(each.name) == "lacks" for each in names.uses if each.name not in names.checked
    )
