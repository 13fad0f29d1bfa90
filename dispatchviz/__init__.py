"""Show the PyTorch dispatcher and autograd engine at work, one step at a time, forward and back.

    import dispatchviz
    import dispatchviz.torch as torch

    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
    trace.show()                                      # the stepper
    trace.backward_graph().render("graph.svg")        # a picture

Importing this package loads nothing heavy: every name below is looked up when it is first used.

PYTEST_DONT_REWRITE: ``dispatchviz run -m pytest`` imports this package before pytest, which would warn that it cannot
rewrite its assertions.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not typing's: importing that costs as much as starting Python
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from dispatchviz import torch
    from dispatchviz.running.recording import record
    from dispatchviz.trace import Trace

__version__ = "0.1.0"
__all__ = ["Trace", "__version__", "load", "record", "torch"]

_HOME = {"record": "dispatchviz.running.recording", "Trace": "dispatchviz.trace"}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "torch":
        return importlib.import_module("dispatchviz.torch")
    if name in _HOME:
        value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))


def load_ipython_extension(shell: Any) -> None:
    """Register the magics ``%%dispatchviz`` and ``%dispatchviz`` for ``%load_ext dispatchviz``."""
    import importlib

    importlib.import_module("dispatchviz.notebook.extension").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics for ``%unload_ext dispatchviz``."""
    import importlib

    importlib.import_module("dispatchviz.notebook.extension").unload(shell)


def load(path: str | Path) -> Trace:
    """Open a saved trace.

    Raises TraceError if the file cannot be read or is not a trace. A file that was cut off opens up to the cut;
    ``notice`` of the result says so.
    """
    from dispatchviz.trace import Trace

    return Trace.load(path)
