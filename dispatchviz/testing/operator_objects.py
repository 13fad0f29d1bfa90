"""Operators given as objects: ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add``.

Both are callable, so they must not be mistaken for a condition. They are recognized by the methods that PyTorch gives
them, so those of an installed PyTorch work as well as the model's.
"""

from __future__ import annotations

from typing import Any


class Overloads:
    """Any overload of an operator, as ``torch.ops.aten.add`` names them. Equal to the full name of each."""

    def __init__(self, base: str) -> None:
        self.base = base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and (other == self.base or other.startswith(f"{self.base}."))

    __hash__ = None  # type: ignore[assignment] # equal to many names, whose hashes differ

    def __repr__(self) -> str:
        namespace, _, name = self.base.partition("::")
        return f"torch.ops.{namespace}.{name}"


def plain_operator(operator: Any) -> Any:
    """Return the name of an operator object, ``Overloads`` for a packet, and any other value unchanged.

    Raise TypeError for a function of ``torch``, which may call any operator.
    """
    __tracebackhide__ = True
    match type(operator).__name__:
        case "OpOverload":
            return operator.name()
        case "OpOverloadPacket":
            return Overloads(operator._qualified_op_name)
        case "CustomOpDef":
            return f"{operator._namespace}::{operator._name}"
        case "Binding":
            name = operator.__name__
            raise TypeError(
                f"{name} is a function, not an operator: use torch.ops.aten.{name} or the operator's name as text"
            )
    return operator
