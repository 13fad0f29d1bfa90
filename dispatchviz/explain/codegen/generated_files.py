"""The files that PyTorch's generators write, and the part of a sharded file that contains a name.

A sharded file is split by a hash of a name (``torchgen/utils.py``, ``FileManager.write_sharded``), so the number of the
part is known without running torchgen. For files that register kernels, each registration contains the place.
"""

from __future__ import annotations

import re

ATEN = "build/aten/src/ATen"
AUTOGRAD = "torch/csrc/autograd/generated"

SHARDS = {"Operators": 5, "python_torch_functions": 3, "python_functions": 5}
"""The number of parts of the sharded files that register no kernel."""

_DUNDER_INPLACE = re.compile(r"__i\w+__$")


def placed(debug: str) -> str:
    """Return ``FILE:LINE`` from ``registered at FILE:LINE`` in PyTorch's dumps; other texts unchanged."""
    return debug.removeprefix("registered at ")


def root_name(base: str) -> str:
    """Return the name of a family: ``add`` for ``add`` and ``add_``, ``__and__`` for ``__iand__``."""
    if base.startswith("__") and base.endswith("__"):
        inside = base[2:-2]
        return inside[1:] if _DUNDER_INPLACE.match(base) else inside
    return base.removesuffix("_").removesuffix("_functional")


def shard(stem: str, name: str) -> int:
    """Return the part of a sharded file that contains a name."""
    import hashlib  # loads OpenSSL, which would delay the first screen

    digest = hashlib.sha1(name.encode("latin1", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest, "little") % SHARDS[stem]


def operators_file(base: str) -> str:
    """Return the file of ``at::_ops::X::call``."""
    return f"{ATEN}/Operators_{shard('Operators', root_name(base))}.cpp"


def function_file(base: str, module: str = "") -> str:
    """Return the file of the binding of a function of ``torch``, or of one of its modules."""
    if module:
        return f"{AUTOGRAD}/python_{module}_functions.cpp"
    return f"{AUTOGRAD}/python_torch_functions_{shard('python_torch_functions', root_name(base))}.cpp"


def method_file() -> str:
    """Return the file of the binding of a method of Tensor."""
    return f"{AUTOGRAD}/python_variable_methods.cpp"


def node_files(base: str) -> tuple[str, str, str]:
    """Return the files of a Node for an operator in ``derivatives.yaml``, without overload: its class, its formulas,
    its Python type.
    """
    part = shard("python_functions", base)
    return f"{AUTOGRAD}/Functions.h", f"{AUTOGRAD}/Functions.cpp", f"{AUTOGRAD}/python_functions_{part}.cpp"


def header(base: str, suffix: str = "") -> str:
    """Return the path of a header: ``build/aten/src/ATen/ops/add_ops.h``"""
    return f"{ATEN}/ops/{root_name(base)}{suffix}.h"
