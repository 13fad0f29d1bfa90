"""Qualified names of operators, and the lines of PyTorch that create libraries for the user.

Mirrors ``torch/_library/utils.py``.
"""

from __future__ import annotations

from dispatchviz.torch._ops import OpOverload, ops

CUSTOM_OP = "torch/_library/custom_ops.py:1107"
DEFINE = "torch/library.py:750"
IMPL = "torch/library.py:940"
REGISTRATION = "torch/library.py:1012"
"""Lines of PyTorch 2.14 that create a library for the user. Dumps show them as the place of registration."""


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Split ``aten::sin`` into ``aten`` and ``sin``. Raise ValueError unless there are two parts."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> OpOverload:
    """Return the overload of a qualified name. Raise AttributeError with PyTorch's message if there is none."""
    namespace, name = parse_namespace(qualname)
    base, _, overload = name.partition(".")
    found: OpOverload = getattr(getattr(getattr(ops, namespace), base), overload or "default")
    return found
