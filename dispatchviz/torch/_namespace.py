"""The ``torch`` namespace for the package's own Python code, without an import of the package that it is part of.

PyTorch's Python code says ``torch.add`` and means whatever stands under that name when it runs. Here modules say
``from dispatchviz.torch._namespace import torch`` and get an object with the attributes of ``dispatchviz.torch``: an
``import dispatchviz.torch`` in them would be a circle, since the package imports them.
"""

from __future__ import annotations

import sys
from typing import Any


class _TorchNamespace:
    """From its first use on it shares the dictionary of the module, so that an attribute costs what a module's does,
    and what is assigned to one is there in the other."""

    def __getattr__(self, name: str) -> Any:
        """A name that is not in the dictionary yet, or that the module's own ``__getattr__`` finds.

        Raises AttributeError as the module does.
        """
        module = sys.modules["dispatchviz.torch"]
        self.__dict__ = vars(module)
        return getattr(module, name)


torch: Any = _TorchNamespace()
"""Names are looked up when they are used, so that parts of the package may be imported in any order."""
