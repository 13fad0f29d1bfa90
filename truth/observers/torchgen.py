"""The registrations that torchgen generates: every ``Register<key>_*.cpp``, also of keys that are not built here.

Needs torch, which packages torchgen and ``native_functions.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torchgen
from torchgen.dest import RegisterDispatchKey
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import NativeFunctionsGroup, dispatch_keys, is_cuda_dispatch_key
from torchgen.selective_build.selector import SelectiveBuilder
from torchgen.utils import Target

BOXED, UNBOXED, TYPED = 1, 2, 8

_FUNCTION = re.compile(r"\b(wrapper_\w+)\(([^()]*)\) \{")
_REGISTRATION = re.compile(r'm\.impl\("(.*)",\s*TORCH_FN\((.*)\)\);')


class Generator:
    """torchgen's generator (``torchgen/dest/register_dispatch_key.py``), run on the packaged yaml."""

    def __init__(self) -> None:
        native = Path(torchgen.__file__).parent / "packaged/ATen/native"
        self.yaml = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
        self.groups = get_grouped_native_functions(self.yaml.native_functions)

    def structured(self) -> set[str]:
        """The operators with a structured kernel: out, functional and in-place variants."""
        groups = (group for group in self.groups if isinstance(group, NativeFunctionsGroup) and group.structured)
        members = (function for group in groups for function in group.functions())
        return {f"aten::{f.func.name}" for f in members if f.structured or f.structured_delegate is not None}

    def cuda(self) -> dict[str, list[tuple[str, str, int]]]:
        """The key, debug text and flags that only a CUDA build registers, by operator."""
        found: dict[str, list[tuple[str, str, int]]] = {}
        for key in filter(is_cuda_dispatch_key, dispatch_keys):
            debug = f"registered at build/aten/src/ATen/Register{key}.cpp"
            for name, _, flags in self.registered(key):
                found.setdefault(name, []).append((str(key), debug, flags))
        return found

    def everything(self) -> dict[str, list[tuple[str, str, int]]]:
        """The operator, function and flags of every kernel, by key."""
        return {str(key): list(self.registered(key)) for key in dispatch_keys}

    def registered(self, key: Any) -> Iterator[tuple[str, str, int]]:
        """Yield operator, function and flags of every kernel of a key."""
        parameters = dict(_FUNCTION.findall(self.written(key, self.groups)))
        for name, function in _REGISTRATION.findall(self.written(key, self.groups, Target.REGISTRATION)):
            symbolic = "SymInt" in parameters[function]  # a kernel with SymInt has no unboxed form
            yield f"aten::{name}", function, BOXED | TYPED | UNBOXED * (not symbolic)

    def written(self, key: Any, groups: Iterable[Any], target: Target = Target.ANONYMOUS_DEFINITION) -> str:
        """The text that torchgen generates for groups of operators under a key: classes and wrappers, or another part
        of the file.
        """
        write = RegisterDispatchKey(
            self.yaml.backend_indices[key], target, SelectiveBuilder.get_nop_selector(), rocm=False, symint=True,
            class_method_name=None, skip_dispatcher_op_registration=False,
        )  # fmt: skip
        return "\n".join(text for group in groups for text in write(group))


@cache
def generator() -> Generator:
    """The generator of this process, which is cached because reading the yaml takes a second."""
    return Generator()
