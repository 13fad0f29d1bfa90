"""The resolution of kernels in the Python dispatcher: ``resolve_key`` and ``OpOverload._get_dispatch``
(``torch/_ops.py``).

The rules are those of the dispatcher's own table, for kernels registered in C++ and in Python (``py_impl``) alike.
Importing this module makes it the Python dispatcher of the machine.

NB: in PyTorch, many composite operators have decompositions in Python that are chosen here; the model has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dispatchviz.core.bindings.python_keys import DispatchKey as PythonKey
from dispatchviz.core.bindings.python_keys import DispatchKeySet, machine_key
from dispatchviz.core.keys.key_set import BACKENDS_OF_AUTOGRAD, autogradother_backends
from dispatchviz.core.keys.keys import DispatchKey, included_in_alias
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.table.library import process
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.torch._ops import OpOverload, overload_of
from dispatchviz.torch.operator_base import call_for_dispatch_key
from dispatchviz.torch.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

K = DispatchKey


def resolve_key(op: OpOverload, key: DispatchKey) -> DispatchKey:
    """Return the key under which the kernel for ``key`` is registered, or ``key`` itself for its backend fallback.

    Raise NotImplementedError if there is none, RuntimeError if AutogradOther is ambiguous.
    """
    for candidate in _candidates(op, key):
        if op.has_kernel_for_dispatch_key(candidate):
            return candidate
    if key in process.fallbacks:
        return key
    raise NotImplementedError(f"could not find kernel for {op} at dispatch key DispatchKey.{key.name}")


def _candidates(op: OpOverload, key: DispatchKey) -> Iterator[DispatchKey]:
    """Yield the candidate kernels, best first."""
    yield key
    for alias in (K.CompositeExplicitAutogradNonFunctional, K.CompositeExplicitAutograd):
        if key == K.Undefined or included_in_alias(key, alias):
            yield alias
    if not _has_backend_kernel(op, key):
        yield from _implicit(op, key)
    for alias in (K.Autograd, K.FuncTorchBatchedDecomposition):
        if included_in_alias(key, alias):
            yield alias


def _has_backend_kernel(op: OpOverload, key: DispatchKey) -> bool:
    consulted = DispatchKeySet.from_raw_repr(BACKENDS_OF_AUTOGRAD.get(key, 0))
    return op.has_kernel_for_any_dispatch_key(consulted) or op.has_kernel_for_dispatch_key(K.CompositeExplicitAutograd)


def _implicit(op: OpOverload, key: DispatchKey) -> Iterator[DispatchKey]:
    if key != K.Undefined and included_in_alias(key, K.CompositeImplicitAutogradNestedTensor):
        yield K.CompositeImplicitAutogradNestedTensor
    if key == K.Undefined or included_in_alias(key, K.CompositeImplicitAutograd):
        others = DispatchKeySet.from_raw_repr(autogradother_backends)
        implicit = op.has_kernel_for_dispatch_key(K.CompositeImplicitAutograd)
        if implicit and key == K.AutogradOther and op.has_kernel_for_any_dispatch_key(others):
            raise RuntimeError("ambiguous autogradother kernel")
        yield K.CompositeImplicitAutograd


def get_dispatch(op: OpOverload, key: DispatchKey) -> Any:
    """Return the kernel of an operator at a key: another key or a function. It is cached in ``_dispatch_cache``."""
    known = PythonKey(int(key))
    if known not in op._dispatch_cache:
        op._dispatch_cache[known] = _chosen(op, key)
    return op._dispatch_cache[known]


def _chosen(op: OpOverload, key: DispatchKey) -> Any:
    if key == K.Python:
        return PythonKey(int(key)) if not op.python_key_table else _for_modes(op)
    final = resolve_key(op, key)
    return op.py_kernels.get(final, PythonKey(int(final)))


def _for_modes(op: OpOverload) -> Any:
    """Return a function that runs the ``py_impl`` kernel of the newest mode's class, else the kernel of the Python
    key.
    """

    def handler(*args: Any, **kwargs: Any) -> Any:
        found = op.python_key_table.get(type(_get_current_dispatch_mode()))
        if found is None:
            return op._op_dk(K.Python, *args, **kwargs)
        with _pop_mode_temporarily() as mode:
            return found(mode, *args, **kwargs)

    return handler


def _choose(entry: OperatorEntry, key: DispatchKey) -> Any:
    chosen = get_dispatch(overload_of(entry), key)
    return machine_key(chosen) if isinstance(chosen, PythonKey) else chosen


interpreter.python_dispatch = _choose
interpreter.call_for_dispatch_key = call_for_dispatch_key
