"""Operators given as objects, ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add``: what tests have at hand.

Both are callable, so they must not be taken for a condition. They are known by the methods that PyTorch gives them:
those of a real PyTorch are as good as the model's.
"""

from __future__ import annotations

from typing import Any


class Overloads:
    """Any overload of an operator, as ``torch.ops.aten.add`` names them; equal to the full name of each."""

    def __init__(self, base: str) -> None:
        self.base = base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and (other == self.base or other.startswith(f"{self.base}."))

    __hash__ = None  # type: ignore[assignment] # what is equal to many names has no hash

    def __repr__(self) -> str:
        namespace, _, name = self.base.partition("::")
        return f"torch.ops.{namespace}.{name}"


def plain_operator(operator: Any) -> Any:
    """The name of an operator that is given as an object, ``Overloads`` for a packet of them; else what was given.

    TypeError for a function of ``torch``, which may call any operator.
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
            raise TypeError(f"{name} is a function and no operator: torch.ops.aten.{name} is one, or its name as text")
    return operator
