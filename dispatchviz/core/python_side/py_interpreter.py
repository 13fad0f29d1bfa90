"""The calls from the machine into the Python side above it (``c10/core/impl/PyInterpreter.h``).

``core`` does not know ``torch.ops``: ``dispatchviz.torch`` sets these functions when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.keys.keys import DispatchKey
    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.core.tensor.tensor import Storage


def _not_installed(*args: Any) -> Any:
    raise RuntimeError("there is no Python side: import dispatchviz.torch")


class PyInterpreter:
    """The Python side of the process. Its functions raise RuntimeError until ``dispatchviz.torch`` sets them."""

    op_overload: Callable[[OperatorEntry], Any] = staticmethod(_not_installed)
    """The function that returns what handlers get as ``func``: ``torch.ops.aten.add.Tensor``."""
    python_dispatch: Callable[[OperatorEntry, DispatchKey], Any] = staticmethod(_not_installed)
    """The function that returns what the Python dispatcher runs for an operator at a key: another key, or a
    function.
    """
    call_for_dispatch_key: Callable[[OperatorEntry, DispatchKey, list[Any]], None] = staticmethod(_not_installed)
    """The function ``callBoxedForDispatchKey``."""
    storage: Callable[[Storage, Device], Any] = staticmethod(_not_installed)
    """The function that returns the Python object of a storage, ``torch.UntypedStorage``."""


interpreter = PyInterpreter()
