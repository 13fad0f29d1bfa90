"""Operators: ``X.call`` dispatches in full, ``X.redispatch`` takes the key set as it is.

A class is made from its schema when it is first used (``core/call/operator_class.py``). ``operators.pyi``, which is
generated, tells type checkers of all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dispatchviz.core.call.operator_class import NAMES, define
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.schema.schema_parser import parse_schema

_FOLDER = Path(__file__).with_suffix("")

globals().update(NAMES)


def __getattr__(name: str) -> Any:
    if name not in SCHEMAS:
        raise AttributeError(f"no operator of ours has the class {name}")
    return define(parse_schema(SCHEMAS[name]), globals(), _FOLDER)
