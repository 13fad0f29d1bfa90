"""Loaded by Python when a child process of a program begins: there too ``import torch`` finds the model.

Nothing is imported before the child imports torch. The ``sitecustomize`` that the child would have had runs as well;
the folder of this one is taken off its path.
"""

from __future__ import annotations

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_FOLDER)))


class _Finder:
    """Makes way for the model's import hook when torch is first imported."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> object:
        """None, but for torch and what is below it."""
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
            f"this process was begun by a program that dispatchviz runs, so torch is its model, which {sys.executable} "
            f"cannot load: {error}"
        ) from None


def _is_there() -> bool:
    from importlib.util import find_spec

    return find_spec("dispatchviz") is not None


def _next_sitecustomize() -> None:
    """Import what this module hides; ``site`` ignores that there may be none."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _FOLDER]
    del sys.modules[__name__]
    __import__("sitecustomize")


sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
_next_sitecustomize()
