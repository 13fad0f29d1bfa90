"""Running a module as ``python -m`` does: by Python's own ``runpy``, so that tracebacks, ``__spec__`` and what is said
of a module that cannot run are Python's."""

from __future__ import annotations

import runpy
from types import CodeType
from typing import Any


def run_module(name: str, path: str, code: CodeType | None) -> None:
    """Runs a module in ``sys.modules["__main__"]``; with ``code`` instead of its own if it is found at ``path``."""
    python: Any = runpy
    own_details = python._get_module_details

    def details(*arguments: Any) -> tuple[str, Any, CodeType]:
        python._get_module_details = own_details
        found, spec, own = own_details(*arguments)
        return found, spec, code if code is not None and spec.origin == path else own

    python._get_module_details = details
    try:
        python._run_module_as_main(name)
    finally:
        python._get_module_details = own_details
