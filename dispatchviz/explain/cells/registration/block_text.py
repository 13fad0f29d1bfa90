"""A registration as PyTorch's sources write it: ``TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl(...); }``.

The output of the generators is known exactly (``torchgen/gen.py``, ``torchgen/dest/register_dispatch_key.py``,
``torchgen/gen_functionalization_type.py``, ``tools/autograd``). Hand-written code uses macros (``KERNEL_CPU``,
``VMAP_SUPPORT``); their expansion is shown, with ``...`` for a function without a name.
"""

from __future__ import annotations

import re

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.kernel.kernel_names import NOT_IMPLEMENTED
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.library import BLOCKS

FALLTHROUGH = "torch::CppFunction::makeFallthrough()"

_GENERATED = re.compile(r"build/aten/src/ATen/Register|torch/csrc/autograd/generated/")
_OLD = "registered by RegisterOperators"
"""The way to register before there were blocks. Three test operators still use it."""

_BACKEND_SELECT = "RegisterBackendSelect.cpp"
_PYTHON_FRAGMENT = "torch/library.py"
"""The Python file that creates a FRAGMENT for one kernel."""

_PYTHON_KEYLESS = "torch/distributed/_meta_registrations.py"
"""The Python file whose block has no key: each kernel gets its own key."""


def fallback(key: DispatchKey, kernel: Kernel) -> str:
    """The block of a backend fallback."""
    made = FALLTHROUGH if kernel.fallthrough else "..."
    return f"{BLOCKS['IMPL']}(_, {key}, m) {{ m.fallback({made}); }}"


def definition(schema: str, debug: str, kind: str) -> str:
    """The block of an operator's definition; ``kind`` is DEF or FRAGMENT."""
    namespace, _, short = schema.partition("::")
    if debug == _OLD:
        return f'torch::RegisterOperators().op("{schema}", ...);'
    if ".py" in debug:
        return f'torch.library.Library("{namespace}", "{kind}").define("{short}")'
    return f'{BLOCKS[kind]}({namespace}, m) {{ m.def("{short}", ...); }}'


def kernel(operator: str, key: DispatchKey, kernel: Kernel, kind: str) -> str:
    """The block of a kernel. ``kind`` is IMPL, or the kind of the block that also defines the operator."""
    namespace, _, name = operator.partition("::")
    if kernel.debug == _OLD:
        return f'torch::RegisterOperators().op("{operator}", ...);'
    if ".py" in kernel.debug:
        return _python(namespace, name, key, kernel, "FRAGMENT" if _PYTHON_FRAGMENT in kernel.debug else kind)
    if kind != "IMPL":
        function = f"torch::dispatch(c10::DispatchKey::{key}, {_function(kernel)})"
        return f'{BLOCKS[kind]}({namespace}, m) {{ m.impl("{name}", {function}); }}'
    named = operator if _BACKEND_SELECT in kernel.debug else name
    return f'{BLOCKS[kind]}({namespace}, {key}, m) {{ m.impl("{named}", {_function(kernel)}); }}'


def _function(kernel: Kernel) -> str:
    if kernel.fallthrough:
        return FALLTHROUGH
    if kernel.name in NOT_IMPLEMENTED.values():
        return f"torch::autograd::{kernel.name}()"
    if not _GENERATED.search(kernel.debug) or kernel.name.startswith("native::"):  # a cast of it, for functionalization
        return "..."
    return f"TORCH_FN({kernel.name})"


def _python(namespace: str, name: str, key: DispatchKey, kernel: Kernel, kind: str) -> str:
    made = "torch.library.fallthrough_kernel" if kernel.fallthrough else "..."
    if kind == "IMPL" and _PYTHON_KEYLESS not in kernel.debug:
        return f'torch.library.Library("{namespace}", "IMPL", "{key}").impl("{name}", {made})'
    return f'torch.library.Library("{namespace}", "{kind}").impl("{name}", {made}, "{key}")'
