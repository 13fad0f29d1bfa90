"""A script that writes ``docs/trace-schema.json``: a JSON Schema of the lines of a trace.

    python -m scripts.trace_schema            write the file
    python -m scripts.trace_schema --check    write nothing; exit status 1 if the file is stale

It is made from the classes of the events. A line is the header or an event. Bounds and vocabularies are those that the
reader checks.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.core.record.trace_file import FORMAT, Filling, Header

FILE = Path(__file__).parents[1] / "docs" / "trace-schema.json"

REFERENCE = "#/$defs/{name}"

DESCRIPTION = (
    "One line of a .jsonl trace, and of the blocks of a .dvtrace: the header, or an event. See trace-format.md, and "
    "events.md for the meaning of each field. Written by python -m scripts.trace_schema."
)


def schema() -> dict[str, Any]:
    """Return the schema of a line."""
    header = _with_plain_defaults(Header)
    (of_header, of_event), kinds = msgspec.json.schema_components((header, ev.AnyEvent), ref_template=REFERENCE)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"dispatchviz trace, format {FORMAT}",
        "description": DESCRIPTION,
        "anyOf": [of_header, {"$ref": REFERENCE.format(name="Event")}],
        "$defs": {"Header": kinds.pop("Header"), "Event": of_event} | {name: _named(kinds[name]) for name in kinds},
    }


def _with_plain_defaults(header: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a class with the same fields, with defaults that JSON can express instead of immutable mappings."""
    fields = [
        (field.name, field.type) if field.required else (field.name, field.type, _default(field.default))
        for field in msgspec.structs.fields(header)
    ]
    made = msgspec.defstruct(header.__name__, fields, kw_only=True)
    made.__doc__ = header.__doc__
    return made


def _default(value: object) -> Any:
    return msgspec.field(default_factory=dict) if isinstance(value, Mapping) else value


KINDS: Mapping[str, type[ev.Event]] = {kind.__name__: kind for kind in typing.get_args(ev.AnyEvent)}

PARTS = {"Filling": Filling.__struct_fields__, "GraphLine": GraphLine._fields}
"""The fields of the arrays within a header or an event."""


def _named(kind: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a kind of event, or of a part of the header, with the name of each field."""
    if "prefixItems" not in kind:
        return kind
    names = PARTS.get(kind["title"]) or ("tag", *KINDS[kind["title"]].__struct_fields__)
    fields = [{"title": name, **field} for name, field in zip(names, kind["prefixItems"], strict=True)]
    return {**kind, "description": inspect.cleandoc(kind["description"]), "prefixItems": fields}


def text() -> str:
    """Return the text of the file, with one kind per line."""
    whole = schema()
    kinds = ",\n".join(f"    {json.dumps(name)}: {json.dumps(kind)}" for name, kind in whole.pop("$defs").items())
    head = json.dumps(whole, indent=2).removesuffix("\n}")
    return f'{head},\n  "$defs": {{\n{kinds}\n  }}\n}}\n'


def main() -> int:
    """Write or check the file, and return the exit status."""
    if "--check" in sys.argv[1:]:
        return int(not FILE.exists() or FILE.read_text("utf-8") != text())
    FILE.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
