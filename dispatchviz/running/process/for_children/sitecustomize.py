"""The module that Python loads when a child process of a program begins, so that ``import torch`` finds the model there
too.

Nothing is imported before the child imports torch. The ``sitecustomize`` that this one hides runs as well. The folder
of this one is removed from the child's path.
"""

from __future__ import annotations

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_FOLDER)))


class _Finder:
    """A module finder that installs the model's import hook when torch is first imported."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> object:
        """Install the import hook for torch and modules below it. Return None."""
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        sys.meta_path.remove(cls)  # type: ignore[arg-type]
        _load_the_model()
        from importlib.util import find_spec

        return find_spec(name)


def _load_the_model() -> None:
    try:
        if not _is_there():
            sys.path.append(_ROOT)
        from dispatchviz.running.import_hook import stay_the_model

        stay_the_model()
    except ImportError as error:
        raise ImportError(
            f"a program under dispatchviz started this process, so torch is its model, which {sys.executable} "
            f"cannot load: {error}"
        ) from None


def _is_there() -> bool:
    from importlib.util import find_spec

    return find_spec("dispatchviz") is not None


def _next_sitecustomize() -> None:
    """Import the module that this one hides. There may be none."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _FOLDER]
    del sys.modules[__name__]
    __import__("sitecustomize")


sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
_next_sitecustomize()
