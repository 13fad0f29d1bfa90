"""The ``torch`` namespace for the package's own Python code, without an import of the package that it is part of.

PyTorch's Python code says ``torch.add`` and means the value of that name at run time. Our modules say ``from
dispatchviz.torch._namespace import torch`` and get an object with the attributes of ``dispatchviz.torch``. An ``import
dispatchviz.torch`` in them would be circular, since the package imports them.
"""

from __future__ import annotations

import sys
from typing import Any


class _TorchNamespace:
    """A stand-in for the ``torch`` module that shares its dictionary from the first use on.

    An attribute therefore costs as much as an attribute of a module, and an assignment to one is visible in the other.
    """

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that is not in the dictionary yet, or that the module's own ``__getattr__`` provides.

        Raise AttributeError as the module does.
        """
        module = sys.modules["dispatchviz.torch"]
        self.__dict__ = vars(module)
        return getattr(module, name)


torch: Any = _TorchNamespace()
"""The namespace. Names are looked up on use, so parts of the package may be imported in any order."""
