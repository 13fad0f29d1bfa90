"""Operators: ``X.call`` dispatches in full, ``X.redispatch`` takes the key set as it is.

A class is made from its schema when it is first used (``core/call/operator_class.py``). ``operators.pyi``, which is
generated, tells type checkers of all of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dispatchviz.core.call.operator_class import NAMES, define
from dispatchviz.core.schema.python_signature import class_name
from dispatchviz.core.schema.schema_parser import parse_schema

_FOLDER = Path(__file__).with_suffix("")

globals().update(NAMES)


@cache
def schemas() -> dict[str, str]:
    """Each class, ``add_Tensor``, to the schema of its operator."""
    from dispatchviz.core.generated.register_schema import SCHEMAS

    return {class_name(text.partition("(")[0]): text for text in SCHEMAS}


def __getattr__(name: str) -> Any:
    if name not in schemas():
        raise AttributeError(f"no operator of ours has the class {name}")
    return define(parse_schema(schemas()[name]), globals(), _FOLDER)
