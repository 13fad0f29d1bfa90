"""The fallback for the key PythonDispatcher: at every level, Python chooses the kernel.

This module mirrors ``pythonDispatcherFallback`` of ``aten/src/ATen/core/PythonFallbackKernel.cpp`` and
``python_dispatcher`` of ``torch/csrc/PyInterpreter.cpp``. Python chooses a function, or a key, whose kernel runs
through ``callBoxedForDispatchKey``. That call computes the key set again, so the kernel sees PythonDispatcher in it
again. Every ``FULL_AFTER`` set keeps that key, so this fallback runs at each lower level too.

Not here: the choice that Python makes (``torch/python_dispatch_table.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.python_side.operator_arguments import python_arguments
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.python_side.python_kernels import push_results
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

_PYTHON_DISPATCHER = KEY_BITS[DispatchKey.PythonDispatcher]


def python_dispatcher_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Run the kernel that Python chooses for the highest key below PythonDispatcher.

    Raise RuntimeError if the key is in the set although the Python dispatcher is off.
    """
    if not thread.state.python_dispatcher:
        raise RuntimeError(
            'state INTERNAL ASSERT FAILED at "aten/src/ATen/core/PythonFallbackKernel.cpp":137, please report a bug to '
            "PyTorch. Hit PythonDispatcher dispatch key but PythonDispatcherTLS was not set"
        )
    chosen = interpreter.python_dispatch(op, highest(ks & ~_PYTHON_DISPATCHER))
    if isinstance(chosen, DispatchKey):
        interpreter.call_for_dispatch_key(op, chosen, stack)
        return
    at = len(stack) - len(op.schema.arguments)
    args, kwargs = python_arguments(op.schema, stack[at:])
    del stack[at:]
    push_results(op, stack, chosen(*args, **kwargs), "Python dispatcher")
