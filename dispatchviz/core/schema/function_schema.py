"""Function schemas: the one-line declaration of an operator as a value, read from text and printed as PyTorch does.

An example is ``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``. This module mirrors
``aten/src/ATen/core/function_schema.h``.

Not here: the parser (``schema_parser.py``), how defaults are printed (``schema_defaults.py``), Python signatures
(``codegen``), matching Python arguments to them (``python_arg_parser.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.schema.schema_defaults import canonical_default
from dispatchviz.core.schema.schema_lexer import SchemaError as SchemaError
from dispatchviz.foundation.unlocked_property import cached_property


class Argument(NamedTuple):
    """One parameter, or one return."""

    name: str
    """Empty for a return without a name."""
    type: str
    """The type without alias annotations: ``Tensor``, ``Tensor?[]``, ``SymInt[2]``, ``int[1]?``."""
    default: str | None = None
    """The default as written; None if there is none."""
    kwarg_only: bool = False
    alias: str | None = None
    """The content of the alias annotation: ``a``, ``a!``, ``a -> *``; None without one."""
    annotated: str = ""
    """The type with its annotations in place: ``Tensor(a!)[]``."""

    @property
    def is_write(self) -> bool:
        """True if the operator writes to it."""
        return self.alias is not None and "!" in self.alias.partition("->")[0]

    @property
    def is_out(self) -> bool:
        """True if the operator writes to it and it is keyword-only, like all arguments that ``torchgen/model.py`` has
        in ``out``.
        """
        return self.kwarg_only and self.is_write

    @property
    def is_tensor(self) -> bool:
        """True if its key sets count for dispatch: Tensor, Tensor?, Tensor[], Tensor[2], Tensor?[] and no other
        type.
        """
        return _TENSOR.fullmatch(self.type) is not None

    def __str__(self) -> str:
        text = f"{self.annotated or self.type} {self.name}".rstrip()
        return text if self.default is None else f"{text}={canonical_default(self.type, self.default)}"


_TENSOR = re.compile(r"Tensor\??|Tensor\??\[\d*\]")


class FunctionSchema:
    """The declaration of one operator, a value that never changes. Declarations with the same parts are equal."""

    def __init__(
        self,
        name: str,
        overload: str,
        arguments: tuple[Argument, ...],
        returns: tuple[Argument, ...],
        is_vararg: bool = False,
        is_varret: bool = False,
    ) -> None:
        self.name = name
        """The name ``aten::add``, without the overload."""
        self.overload = overload
        """The overload, ``Tensor``; empty for the operator without one."""
        self.arguments = arguments
        self.returns = returns
        self.is_vararg = is_vararg
        """True if any further arguments are accepted (``...``)."""
        self.is_varret = is_varret

    def _parts(self) -> tuple[object, ...]:
        return self.name, self.overload, self.arguments, self.returns, self.is_vararg, self.is_varret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def named(self, name: str) -> FunctionSchema:
        """The same declaration with another name."""
        return FunctionSchema(name, self.overload, self.arguments, self.returns, self.is_vararg, self.is_varret)

    @cached_property
    def full_name(self) -> str:
        """The name with the overload: ``aten::add.Tensor``, or ``aten::sum`` for the empty overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def namespace(self) -> str:
        """The namespace, ``aten``; empty if the name has none."""
        return self.name.rpartition("::")[0]

    @cached_property
    def tensor_positions(self) -> tuple[int, ...]:
        """Positions of the arguments whose key sets count (``DispatchKeyExtractor``)."""
        return tuple(position for position, argument in enumerate(self.arguments) if argument.is_tensor)

    @cached_property
    def plain_tensors(self) -> tuple[int, ...]:
        """The ``tensor_positions`` if all are plain ``Tensor``, neither optional nor a list; else empty.

        It is empty too if a generator may add keys.
        """
        if any(argument.type == "Generator?" for argument in self.arguments):
            return ()
        positions = self.tensor_positions
        return positions if all(self.arguments[i].type == "Tensor" for i in positions) else ()

    @cached_property
    def returned_arguments(self) -> tuple[int, ...]:
        """Positions of the arguments that an in-place or out= operator writes and returns; empty for all others."""
        writable = {a.alias: position for position, a in enumerate(self.arguments) if a.is_write}
        positions = tuple(writable[r.alias] for r in self.returns if r.alias in writable)
        return positions if len(positions) == len(self.returns) else ()

    @cached_property
    def _text(self) -> str:
        return f"{self.full_name}({', '.join(self._parameters())}) -> {self._result()}"

    def _parameters(self) -> Iterator[str]:
        kwarg_only = False
        for argument in self.arguments:
            if argument.kwarg_only and not kwarg_only:
                kwarg_only = True
                yield "*"
            yield str(argument)
        if self.is_vararg:
            yield "..."

    def _result(self) -> str:
        returns = [str(value) for value in self.returns] + ["..."] * self.is_varret
        return returns[0] if len(returns) == 1 else f"({', '.join(returns)})"

    def __str__(self) -> str:
        return self._text
