"""The classes of events: every field says what it is, and a value that no field can have does not pass unseen."""

from __future__ import annotations

import ast
import typing
from pathlib import Path

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace, encode
from scripts.events_page import PAGE, page, variables

KINDS: tuple[type[ev.Event], ...] = typing.get_args(ev.AnyEvent)
MODULES = [ast.parse(file.read_text("utf-8")) for file in sorted(Path(ev.__path__[0]).glob("*.py"))]


def test_every_field_of_every_event_has_a_docstring() -> None:
    classes = [node for module in MODULES for node in module.body if isinstance(node, ast.ClassDef)]
    fields = {node.name: {each.name: each.docstring for each in variables(node.body)} for node in classes}
    assert set(fields) == {"Event", "Container", *(kind.__name__ for kind in KINDS)}
    for kind in KINDS:
        inherited, own = ev.Event.__struct_fields__, tuple(fields[kind.__name__])
        assert kind.__struct_fields__ == (*inherited, *own)
    assert not [f"{kind}.{name}" for kind, names in fields.items() for name, text in names.items() if not text.strip()]


def test_every_vocabulary_has_a_docstring() -> None:
    documented = {each.name: each.docstring for module in MODULES for each in variables(module.body)}
    vocabularies = [name for name, value in vars(ev).items() if typing.get_origin(value) is typing.Literal]
    assert vocabularies
    assert not [name for name in vocabularies if not documented[name].strip()]


def test_the_page_is_fresh() -> None:
    """Else: ``python -m scripts.events_page``."""
    assert PAGE.read_text("utf-8") == page()


def test_all_kinds_are_frozen_and_named_by_their_class() -> None:
    assert {*ev.Event.__subclasses__(), *ev.Container.__subclasses__()} == {ev.Container, *KINDS}
    for kind in KINDS:
        config = kind.__struct_config__
        assert (config.frozen, config.gc, config.array_like, config.tag) == (True, False, True, kind.__name__)


# -- values that no field can have ------------------------------------------------------------------------------------

CALL = ev.Dispatched(0, None, "call", "aten::add.Tensor", 1, "CPU")
HEADER = Header(cuda="", program="p.py")


def reopened(*lines: str) -> Trace:
    raw = "\n".join([encode(HEADER).decode(), *lines, ""])
    return Trace.decoded(raw.encode(), "t.jsonl")


def line(event: object) -> str:
    return msgspec.json.encode(event).decode()


def test_a_value_outside_of_its_vocabulary_is_named_in_one_line() -> None:
    wrong = line(CALL).replace('"call"', '"shout"')
    after = ev.Printed(1, 0, "hello\n")
    trace = reopened(wrong, line(after))
    assert trace.notice == "t.jsonl has a value at step 0 that this version does not know: it is shown as it is"
    assert trace[0] == ev.Unknown(0, None, "Dispatched", '["shout","aten::add.Tensor",1,"CPU"]')
    assert trace[1] == after


def test_a_value_of_another_type_is_named_too() -> None:
    trace = reopened(line(CALL).replace(",1,", ',"1",'))
    assert trace.notice.startswith("t.jsonl has a value at step 0 ")


def test_a_kind_of_a_newer_version_needs_no_notice() -> None:
    trace = reopened('["Danced",0,null,3]', line(ev.Printed(1, None, "hello\n")))
    assert trace[0] == ev.Unknown(0, None, "Danced", "[3]")
    assert not trace.notice
