"""The backend fallback for ZeroTensor (``aten/src/ATen/ZeroTensorFallback.cpp``).

A zero tensor has a shape and no memory. Autograd uses it for gradients that are known to be zero. Operators that
preserve zero have kernels of their own (``native/factories/zero_tensor.py``) or a fallthrough. For all others the
fallback here creates real zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.call.dispatcher import redispatch_boxed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import full_after
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.math_bits.conj_neg_fallback import writes
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor
from dispatchviz.core.tensor.tensor import Tensor

_BELOW = full_after(DispatchKey.ZeroTensor)


def zero_tensor_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Redispatch with real zeros; views get the zero tensor itself. Raise RuntimeError if a zero tensor would be
    written to.
    """
    if writes(op.schema, "ZeroTensorFallback: ", "ZeroTensor fallback") is not False:
        at = len(stack) - len(op.schema.arguments)
        stack[at:] = map(_materialized, op.schema.arguments, stack[at:])
    redispatch_boxed(op, ks & _BELOW, stack)


def _materialized(argument: Argument, value: Any) -> Any:
    if isinstance(value, Tensor):
        return _real(value, argument)
    if isinstance(value, (list, tuple)) and argument.type.startswith("Tensor["):
        return _real_list(value, argument)
    return value


def _real_list(values: Sequence[Tensor], argument: Argument) -> list[Tensor]:
    return [_real(value, argument) for value in values]


def _real(tensor: Tensor, argument: Argument) -> Tensor:
    if not is_zerotensor(tensor):
        return tensor
    if argument.alias is not None:
        raise RuntimeError(
            "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you want a "
            "mutable tensor."
        )
    zero = ops.zeros.call((), tensor._dtype, "strided", tensor._device, None)
    return ops.expand.call(zero, tensor._size, False)
