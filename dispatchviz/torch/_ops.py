"""``torch.ops.<namespace>.<operator>.<overload>``: calls that enter the dispatcher boxed (``torch/_ops.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.aten import operators
from dispatchviz.core.dispatcher import call_boxed
from dispatchviz.core.keyset import DispatchKeySet
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.python_arg_parser import type_name
from dispatchviz.core.schema import Argument
from dispatchviz.core.tensor import Tensor


class OpOverload:
    """One operator."""

    def __init__(self, entry: OperatorEntry) -> None:
        self._entry = entry
        self._schema = entry.schema

    def name(self) -> str:
        """``aten::add.Tensor``"""
        return self._entry.name

    def __repr__(self) -> str:
        namespace, _, rest = self._entry.name.partition("::")
        base, _, overload = rest.partition(".")
        return f"<OpOverload(op='{namespace}.{base}', overload='{overload or 'default'}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``callBoxed`` with the arguments in schema order. TypeError if they do not fit the schema."""
        stack = self._arguments(args, kwargs)
        call_boxed(self._entry, stack)
        return stack[0] if len(stack) == 1 else tuple(stack)

    def redispatch(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel that a key set picks, without mask and thread state."""
        from dispatchviz.core.dispatcher import redispatch_boxed

        stack = self._arguments(args, kwargs)
        redispatch_boxed(self._entry, keyset.raw_repr(), stack)
        return stack[0] if len(stack) == 1 else tuple(stack)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        values = list(args)
        for argument in self._schema.arguments[len(args) :]:
            if argument.name in kwargs:
                values.append(kwargs[argument.name])
            elif argument.default is not None or argument.type.endswith("?"):
                values.append(_default(argument))
            else:
                raise TypeError(f"{self.name()}() is missing value for argument '{argument.name}'. Declaration: {self._schema}")
        if len(args) > len(self._schema.arguments):
            raise TypeError(
                f"{self.name()}() expected at most {len(self._schema.arguments)} argument(s) but received {len(args)} "
                f"argument(s). Declaration: {self._schema}"
            )
        return [self._checked(a, v) for a, v in zip(self._schema.arguments, values, strict=True)]

    def _checked(self, argument: Argument, value: Any) -> Any:
        if argument.type == "Tensor" and isinstance(value, (int, float, complex)):
            from dispatchviz.core.python_arg_parser import number_as_tensor

            return number_as_tensor(value)
        if argument.type == "Tensor" and not isinstance(value, Tensor):
            raise TypeError(
                f"{self.name()}() Expected a value of type 'Tensor' for argument '{argument.name}' but instead found "
                f"type '{type_name(value)}'."
            )
        return tuple(value) if isinstance(value, list) and not argument.type.startswith("Tensor") else value


_DEFAULTS = {"None": None, "True": True, "False": False, "contiguous_format": None, "[]": ()}


def _default(argument: Argument) -> Any:
    text = argument.default or "None"
    if text in _DEFAULTS:
        return _DEFAULTS[text]
    return float(text) if "." in text or argument.type == "float" else int(text)


class OpOverloadPacket:
    """All overloads of one name; calling it picks the first whose schema fits."""

    def __init__(self, name: str) -> None:
        self._name = name

    def overloads(self) -> list[str]:
        """``default`` stands for the empty overload."""
        names = [n.partition(".")[2] for n in operators if n.partition(".")[0] == self._name]
        return [name or "default" for name in names]

    def __getattr__(self, overload: str) -> OpOverload:
        full = self._name if overload == "default" else f"{self._name}.{overload}"
        if full not in operators:
            raise AttributeError(
                f"The underlying op of '{self._name}' has no overload name '{overload}'; it has "
                f"{', '.join(self.overloads())}"
            )
        return OpOverload(operators[full])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """TypeError if no overload fits."""
        failures = []
        for overload in self.overloads():
            try:
                candidate: OpOverload = getattr(self, overload)
                candidate._arguments(args, kwargs)
            except TypeError as error:
                failures.append(str(error))
                continue
            return candidate(*args, **kwargs)
        raise TypeError("\n".join(failures))


class _Namespace:
    """``torch.ops.aten``"""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, base: str) -> OpOverloadPacket:
        full = f"{self._name}::{base}"
        if not any(name.partition(".")[0] == full for name in operators):
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{base}'")
        return OpOverloadPacket(full)


class _Ops:
    """``torch.ops``"""

    def __getattr__(self, namespace: str) -> _Namespace:
        return _Namespace(namespace)


ops = _Ops()
