"""``torch.ops.<namespace>.<operator>.<overload>``: calls that enter the dispatcher boxed (``torch/_ops.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.dispatcher import call_boxed, redispatch_boxed
from dispatchviz.core.keyset import DispatchKeySet
from dispatchviz.core.library import operators
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.python_arg_parser import number_as_tensor
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
        """``callBoxed`` with the arguments in schema order. RuntimeError if they do not fit the schema."""
        stack = self._arguments(args, kwargs)
        call_boxed(self._entry, stack)
        return stack[0] if len(stack) == 1 else tuple(stack)

    def redispatch(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel that a key set picks, without mask and thread state."""
        stack = self._arguments(args, kwargs)
        redispatch_boxed(self._entry, keyset.raw_repr(), stack)
        return stack[0] if len(stack) == 1 else tuple(stack)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The stack of a call. RuntimeError with PyTorch's text if it does not fit the schema."""
        arguments = self._schema.arguments
        positional = sum(not a.kwarg_only for a in arguments)
        if len(args) > positional:
            raise self._misfit(
                f"takes {positional} positional argument(s) but {len(args)} was/were given.  Declaration"
            )
        values = list(args)
        for argument in arguments[len(args) :]:
            if argument.name in kwargs:
                values.append(kwargs[argument.name])
            elif argument.default is not None or argument.type.endswith("?"):
                values.append(_default(argument))
            else:
                raise self._misfit(f"is missing value for argument '{argument.name}'. Declaration")
        return [self._checked(i, a, v) for i, (a, v) in enumerate(zip(arguments, values, strict=True))]

    def _misfit(self, problem: str) -> RuntimeError:
        return RuntimeError(f"{self._entry.name.partition('.')[0]}() {problem}: {self._schema}")

    def _checked(self, position: int, argument: Argument, value: Any) -> Any:
        kind = argument.type
        if kind == "Tensor" and not isinstance(value, Tensor):
            if isinstance(value, (int, float, complex)):
                return number_as_tensor(value)
            raise self._wrong_type("Tensor", position, argument, value, f"Unable to cast {value} to Tensor")
        if kind == "Scalar" and not isinstance(value, (int, float, complex)):
            if isinstance(value, Tensor) and not value._size:
                return value._array.item()
            raise self._wrong_type("number", position, argument, value, f"Cannot cast {value} to number")
        return tuple(value) if isinstance(value, list) and not kind.startswith("Tensor") else value

    def _wrong_type(self, wanted: str, position: int, argument: Argument, value: Any, details: str) -> RuntimeError:
        return RuntimeError(
            f"{self._entry.name.partition('.')[0]}() Expected a value of type '{wanted}' for argument "
            f"'{argument.name}' but instead found type '{type(value).__name__}'.\n"
            f"Position: {position}\nValue: {value!r}\nDeclaration: {self._schema}\nCast error details: {details}"
        )


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
                f"The underlying op of '{self._name.replace('::', '.')}' has no overload name '{overload}'"
            )
        return OpOverload(operators[full])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError if no overload fits."""
        failures = []
        for overload in self.overloads():
            try:
                candidate: OpOverload = getattr(self, overload)
                candidate._arguments(args, kwargs)
            except RuntimeError as error:
                failures.append(f"{error}\n\n")
                continue
            return candidate(*args, **kwargs)
        head = "Overloaded torch operator invoked from Python failed to match any schema:\n"
        raise RuntimeError(head + "".join(failures))


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
