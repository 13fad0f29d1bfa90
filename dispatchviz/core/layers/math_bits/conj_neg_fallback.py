"""The backend fallbacks for Conjugate and Negative: they resolve the bit before a kernel sees the tensor.

This module mirrors ``aten/src/ATen/native/MathBitsFallback.h``, ``ConjugateFallback.cpp`` and ``NegateFallback.cpp``.
Operators whose kernels know the bit have a fallthrough registered for the key, so these fallbacks do not run for them.

Rule 1: arguments with the bit are replaced by clones. Only arguments with an alias annotation in the schema are checked
for writes.
Rule 2: an argument that is written to is cloned as well, and the result is copied back, since it may share memory with
another argument.
Rule 3: views keep the bit, since a view copies the key set. For them nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchviz.core.call.dispatcher import redispatch_boxed
from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import full_after
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.conj_neg_bits import is_conj, is_neg
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides

Mutated = list[tuple[Tensor, Tensor]]
"""An argument with the bit that is written to, and its clone. There is at most one."""


class MathOpFallback:
    """One of the two bits."""

    def __init__(self, key: DispatchKey, op_name: str, is_bit_set: Callable[[Tensor], bool]) -> None:
        self.op_name = op_name
        """The name of the bit in errors: ``conjugate`` or ``negation``."""
        self.is_bit_set = is_bit_set
        self._below = full_after(key)

    def __call__(self, op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        """Redispatch with arguments that do not have the bit.

        Raise RuntimeError for operators that both write to arguments and make views, for two written tensors with the
        bit, and for lists that are written to and have it.
        """
        if writes(op.schema, f"{self.op_name} fallback: ", f"{self.op_name} fallback") is False:
            redispatch_boxed(op, ks & self._below, stack)
            return
        at = len(stack) - len(op.schema.arguments)
        mutated = self._resolve(op, stack, at)
        redispatch_boxed(op, ks & self._below, stack)
        for original, clone in mutated:
            assert stack[at] is clone, "the operator returns the argument that it writes to"
            if original._size != clone._size:  # an out= argument was resized
                resize_output(original, clone._size, contiguous_strides(clone._size))
            ops.copy_.call(original, clone, False)
            stack[at] = original

    def _resolve(self, op: OperatorEntry, stack: list[Any], at: int) -> Mutated:
        """Replace the arguments that have the bit. Return the one that is written to."""
        mutated: Mutated = []
        for position, argument in enumerate(op.schema.arguments, at):
            value = stack[position]
            if isinstance(value, Tensor) and self.is_bit_set(value):
                stack[position] = ops.clone.call(value, None)
                if argument.alias is not None:
                    self._only_one(mutated)
                    mutated.append((value, stack[position]))
            elif isinstance(value, (list, tuple)) and argument.type.startswith("Tensor["):
                resolve = partial(self._resolve_member, op.schema, argument.alias is not None)
                stack[position] = [resolve(member) for member in value]
        return mutated

    def _only_one(self, mutated: Mutated) -> None:
        if mutated:
            raise RuntimeError(
                f"{self.op_name} fallback does not support operators with more than one mutable tensors with "
                f"{self.op_name}bit set to true."
            )

    def _resolve_member(self, schema: FunctionSchema, is_written: bool, tensor: Tensor) -> Tensor:
        if not self.is_bit_set(tensor):
            return tensor
        if is_written:
            raise RuntimeError(
                f" fallback doesn't currently support mutable TensorLists with {self.op_name} inputs. Please "
                f"materialize all the {self.op_name} input tensor(s) in the mutable TensorList inputs before calling "
                f"{schema.name}"
            )
        return ops.clone.call(tensor, None)


def writes(schema: FunctionSchema, fallback: str, refusal: str) -> bool | None:
    """Return True for an in-place or out= operator, False for a view, None for others. Raise RuntimeError with
    PyTorch's text for a mix.
    """
    kinds = {argument.is_write for argument in schema.arguments if argument.alias is not None}
    if len(kinds) > 1:
        raise RuntimeError(
            f"Unsupported operator for {fallback}{schema.name}{refusal} doesn't work for operators with a mix mutable "
            "and non-mutable inputs that alias with outputs, this must be implemented manually.  If you got this error "
            "on a core op, please report a bug to PyTorch."
        )
    return kinds.pop() if kinds else None


conjugate_fallback = MathOpFallback(DispatchKey.Conjugate, "conjugate", is_conj)
negation_fallback = MathOpFallback(DispatchKey.Negative, "negation", is_neg)
