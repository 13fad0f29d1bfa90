"""``docs/trace-schema.json`` accepts the same lines as the reader. A small validator of JSON Schema compares them."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import msgspec
import pytest

import dispatchviz
import dispatchviz.torch as model
from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.core.record.trace_file import FORMAT, Header, encode
from dispatchviz.core.record.trace_file.event_lines import KINDS
from dispatchviz.core.record.trace_file.header import Filling, KeptTables, KeyLayout, Process
from scripts.trace_schema import FILE, text
from tests.core.test_event_vocabularies import STREAMS
from tests.explain.programs import traced
from tests.fuzzing.seeds import seeds
from truth.observers.runs import Run, in_new_thread
from truth.programs import PROGRAMS

PARTS = {kind.__name__ for kind in (KeyLayout, KeptTables, Filling, Process, GraphLine)}
"""The types of fields of the header, and of an event."""
SCHEMA: dict[str, Any] = json.loads(FILE.read_text("utf-8"))

SAYS_NOTHING = {"$schema", "$defs", "title", "description", "default"}
"""Keywords of a schema that no value can violate."""

TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list, "object": dict, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip

Schema = dict[str, Any] | bool


def valid(value: object, schema: Schema) -> bool:
    """Return whether a value satisfies a schema. Raise KeyError for a keyword that this validator does not know."""
    if isinstance(schema, bool):
        return schema
    return all(WORDS[word](value, given, schema) for word, given in schema.items() if word not in SAYS_NOTHING)


def _is_type(value: object, name: str, _: Schema) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _items(value: Any, rest: Schema, schema: dict[str, Any]) -> bool:
    return all(valid(each, rest) for each in value[len(schema.get("prefixItems", ())) :])


WORDS: dict[str, Any] = {
    "$ref": lambda value, name, _: valid(value, SCHEMA["$defs"][name.removeprefix("#/$defs/")]),
    "anyOf": lambda value, schemas, _: any(valid(value, each) for each in schemas),
    "enum": lambda value, values, _: value in values,
    "type": _is_type,
    "minimum": lambda value, bound, _: value >= bound,
    "maximum": lambda value, bound, _: value <= bound,
    "minItems": lambda value, least, _: len(value) >= least,
    "maxItems": lambda value, most, _: len(value) <= most,
    "prefixItems": lambda value, schemas, _: all(map(valid, value, schemas)),
    "items": _items,
    "required": lambda value, names, _: set(names) <= set(value),
    "properties": lambda value, schemas, _: all(valid(value[name], schemas[name]) for name in value if name in schemas),
    "additionalProperties": lambda value, rest, schema: all(
        valid(each, rest) for name, each in value.items() if name not in schema.get("properties", ())
    ),
}


def a_name_lost() -> bytes:
    """The lines of a program in which a variable is bound to a tensor that already has a name."""
    with dispatchviz.record("p.py", values=4) as trace:
        x, y = model.ones(2), model.zeros(2)
        x + y
        x = y
        x + y
    return trace.encoded(".jsonl")


def a_warning() -> bytes:
    """The lines of a program that warns."""
    with warnings.catch_warnings():
        return traced("import warnings; warnings.simplefilter('always'); warnings.warn('so')").encoded(".jsonl")


@cache
def lines() -> tuple[bytes, ...]:
    """The lines of many programs, with every kind of event."""
    of_today = (seed for seed in seeds() if json.loads(seed.partition(b"\n")[0])["format"] == FORMAT)
    more = (in_new_thread(partial(recorded, source)) for source in (STREAMS, PROGRAMS["anomaly_nan"]))
    return tuple(line for seed in (*of_today, *more, a_name_lost(), a_warning()) for line in seed.splitlines())


def recorded(source: str) -> bytes:
    """The lines of a program, which may raise."""
    program = Run(model, source)
    with dispatchviz.record("p.py") as trace:
        program.whole()
    return trace.encoded(".jsonl")


def test_the_schema_is_fresh() -> None:
    """If it fails, run ``python -m scripts.trace_schema``."""
    assert FILE.read_text("utf-8") == text()
    assert SCHEMA["title"].endswith(f"format {FORMAT}")


def test_every_kind_has_its_schema() -> None:
    assert set(SCHEMA["$defs"]) == {"Header", *PARTS, "Event", *KINDS}
    assert [each["$ref"] for each in SCHEMA["$defs"]["Event"]["anyOf"]] == [f"#/$defs/{kind}" for kind in KINDS]


@pytest.mark.long
def test_real_lines_are_valid() -> None:
    whole = [json.loads(line) for line in lines()]
    assert [value for value in whole if not valid(value, SCHEMA)] == []
    kinds = {value[0] for value in whole if isinstance(value, list)}
    assert set(KINDS) - kinds == {"Unknown"}
    for kind in kinds:  # nothing but its own schema takes it
        some = next(value for value in whole if isinstance(value, list) and value[0] == kind)
        assert [name for name in KINDS if valid(some, SCHEMA["$defs"][name])] == [kind]


OTHERS = (None, True, -1, -2, 2**31, 2**32, 2**62, 2**63, 1.5, "", "nothing known", [], [1], [["x", 1]], {}, {"a": 1})
"""Replacements for a value."""


def changed(value: Any, chance: random.Random) -> Any:
    """A line with another value somewhere, or one fewer, or one more."""
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        how = chance.random()
        if how < 0.1:
            return value[:at] + value[at + 1 :]
        if how < 0.2:
            return [*value[:at], chance.choice(OTHERS), *value[at:]]
        return [*value[:at], changed(value[at], chance), *value[at + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(list(value))
        return {**value, name: changed(value[name], chance)} if chance.random() < 0.8 else {}
    return chance.choice(OTHERS)


def wrong_lines() -> Iterator[Any]:
    """Lines of every kind, each changed in some places; a header is an object, everything else an array."""
    chance, some = random.Random(15), dict[str, list[Any]]()
    for line in lines():
        value = json.loads(line)
        some.setdefault(value[0] if isinstance(value, list) else "Header", []).append(value)
    for of_kind in some.values():
        yield from (changed(chance.choice(of_kind), chance) for _ in range(60))


def taken(value: object) -> bool:
    """Return whether the reader accepts it as a known event."""
    try:
        msgspec.json.decode(encode(value), type=Header if isinstance(value, dict) else AnyEvent)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.long
def test_schema_and_reader_refuse_the_same_lines() -> None:
    verdicts = [(valid(value, SCHEMA), taken(value), value) for value in wrong_lines()]
    assert [each for each in verdicts if each[0] != each[1]] == []
    refused = sum(not one for one, _, _ in verdicts)
    assert len(verdicts) // 4 < refused < len(verdicts)
