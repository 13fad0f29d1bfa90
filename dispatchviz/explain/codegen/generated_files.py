"""Where PyTorch's generators put what they write: the files, and the shard of one that is written in parts.

A sharded file is cut by a hash of a name (``torchgen/utils.py``, ``FileManager.write_sharded``), so the number of the
part is known without running torchgen. Of files that register kernels each registration says the place.
"""

from __future__ import annotations

import re

ATEN = "build/aten/src/ATen"
AUTOGRAD = "torch/csrc/autograd/generated"

SHARDS = {"Operators": 5, "python_torch_functions": 3, "python_functions": 5}
"""Parts of the files that are written in parts and register no kernel."""

_DUNDER_INPLACE = re.compile(r"__i\w+__$")


def placed(debug: str) -> str:
    """``FILE:LINE`` of the ``registered at FILE:LINE`` of PyTorch's dumps; as it is where that is no place."""
    return debug.removeprefix("registered at ")


def root_name(base: str) -> str:
    """The name of a family: ``add`` for ``add`` and ``add_``, ``__and__`` for ``__iand__``."""
    if base.startswith("__") and base.endswith("__"):
        inside = base[2:-2]
        return inside[1:] if _DUNDER_INPLACE.match(base) else inside
    return base.removesuffix("_").removesuffix("_functional")


def shard(stem: str, name: str) -> int:
    """Which part of a sharded file a name goes to."""
    import hashlib  # brings OpenSSL: not for the first paint

    digest = hashlib.sha1(name.encode("latin1", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest, "little") % SHARDS[stem]


def operators_file(base: str) -> str:
    """Of ``at::_ops::X::call``."""
    return f"{ATEN}/Operators_{shard('Operators', root_name(base))}.cpp"


def function_file(base: str, module: str = "") -> str:
    """Of the binding of a function of ``torch``, or of one of its modules."""
    if module:
        return f"{AUTOGRAD}/python_{module}_functions.cpp"
    return f"{AUTOGRAD}/python_torch_functions_{shard('python_torch_functions', root_name(base))}.cpp"


def method_file() -> str:
    """Of the binding of a method of Tensor."""
    return f"{AUTOGRAD}/python_variable_methods.cpp"


def node_files(base: str) -> tuple[str, str, str]:
    """Of a Node whose entry in ``derivatives.yaml`` is for an operator of that name, without overload: its class, its
    formulas, its Python type."""
    part = shard("python_functions", base)
    return f"{AUTOGRAD}/Functions.h", f"{AUTOGRAD}/Functions.cpp", f"{AUTOGRAD}/python_functions_{part}.cpp"


def header(base: str, suffix: str = "") -> str:
    """``build/aten/src/ATen/ops/add_ops.h``"""
    return f"{ATEN}/ops/{root_name(base)}{suffix}.h"
