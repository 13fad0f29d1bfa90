"""Calls of kernels with an undefined tensor, where an operator takes ``Tensor?``.

C++ kernels that hold an optional argument as a plain ``Tensor`` hand it on like that. It is None in every way but one:
an undefined tensor has the key AutogradOther, which shows in the key set of the call.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call import dispatcher
from dispatchviz.core.call.aten import keys_of
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.tensor.tensor import Tensor

UNDEFINED_TENSOR_KEYS = raw(DispatchKey.AutogradOther)


def call_with_undefined(operator: Any, *args: Any) -> Any:
    """``operator.call(*args)`` in which some None is an undefined tensor."""
    keys = keys_of([arg for arg in args if isinstance(arg, Tensor)]) | UNDEFINED_TENSOR_KEYS
    kernel, ks = dispatcher.call(operator.entry, keys)
    return kernel(ks, *args)


def call_maybe_undefined(operator: Any, tensor: Tensor | None, *args: Any) -> Any:
    """A call with all arguments; ``tensor`` is the one of them that may be an undefined tensor."""
    return operator.call(*args) if tensor is not None else call_with_undefined(operator, *args)


def call_of_node(operator: Any, *args: Any) -> Any:
    """A call in a formula: what a Node holds for a missing tensor, and a missing gradient, are undefined tensors."""
    missing = any(args[position] is None for _, position in operator.entry.tensor_parameters)
    return call_with_undefined(operator, *args) if missing else operator.call(*args)
