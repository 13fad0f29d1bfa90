"""Every kind of event has a label, a sign, a sentence and a rule, and says how it is known of an installed PyTorch."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.kinds.all_kinds import KINDS, label, rule, sign, unseen, why_here
from dispatchviz.explain.kinds.kind import NO_RULE, SIGNS
from dispatchviz.explain.trace_index.recorded_engine import Unseen, build_of, engine_text, is_unseen

from .founding import founding


def plain(kind: Any) -> Any:
    """A value of a field's type."""
    if typing.get_origin(kind) is typing.Annotated:
        return plain(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return None
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[0]
    return {int: 0, str: "word", bool: False}.get(kind, ())


def with_one_of(kind: type[ev.Event]) -> Trace:
    """The founding trace with an event of a kind at its end."""
    trace = founding()
    fields = [plain(field.type) for field in msgspec.structs.fields(kind)[2:]]
    added: Any = kind(len(trace), None, *fields)
    return Trace(trace.header, [*trace.events, added])


@pytest.mark.parametrize("kind", typing.get_args(ev.AnyEvent), ids=lambda kind: kind.__name__)
def test_every_kind_is_explained(kind: type[ev.Event]) -> None:
    trace = with_one_of(kind)
    text = why_here(trace, len(trace) - 1)
    assert text[0].isupper() or text.startswith(("word", "t0", "x", "grad()", "check_inplace", "queue_callback()"))
    assert "  " not in text
    assert label(trace, len(trace) - 1)
    assert sign(trace[-1]) in SIGNS.values()
    assert rule(trace[-1]) == NO_RULE or rule(trace[-1]).text.endswith(".")


def test_every_kind_has_one_record() -> None:
    assert set(KINDS) == set(typing.get_args(ev.AnyEvent))
    assert all(kind is record.event for kind, record in KINDS.items())


def test_signs_differ_without_color() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert all(len(sign) == 1 for sign in SIGNS.values())


def test_every_step_of_the_founding_program_is_a_sentence() -> None:
    trace = founding()
    for event in trace:
        if not isinstance(event, ev.SourceLine):
            assert why_here(trace, event.seq).endswith("."), event


@pytest.mark.parametrize("kind", KINDS)
def test_fields_that_are_known_otherwise_are_fields(kind: type[ev.Event]) -> None:
    fields = {field.name for field in msgspec.structs.fields(kind)}
    known = KINDS[kind].known
    assert set(known.fields) <= fields
    assert all(how != known.how for how, _ in known.fields.values())


def test_partly_derived_kind_lists_its_derived_fields() -> None:
    text = str(KINDS[ev.KeySetComputed].known)
    assert text.startswith("observed: the key sets of the arguments and of the thread are read")
    assert "; mask derived: from the registrations of this build; " in text


def test_unseen_kind_gives_the_reason() -> None:
    assert unseen(ev.NodeQueued) == (
        "Not seen in a release build: the engine does not expose its counts and ready queues."
    )


def test_the_records_of_unseen_kinds_say_so() -> None:
    not_all_seen = {KINDS[kind].known.how for kind in typing.get_args(Unseen)}
    assert not_all_seen == {"unseen", "derived"}
    assert KINDS[ev.RequiresGradSet].known.how == "derived"


def test_nothing_of_the_model_is_unseen() -> None:
    header = Header(cuda="CuPy", program="x.py")
    assert not any(is_unseen(header, kind) for kind in typing.get_args(Unseen))
    assert engine_text(header) == "the model of PyTorch 2.14.1, cuda: CuPy"


@pytest.mark.parametrize(("build", "name"), [("CPU", "cpu"), ("CUDA 12.8", "cuda"), ("ROCm 6.4", "cuda")])
def test_an_installed_pytorch(build: str, name: str) -> None:
    about = f"PyTorch 2.12.1, {build} build, release"
    header = Header(engine="torch", pytorch="2.12.1", cuda="none", build=about, program="x.py")
    assert is_unseen(header, ev.MetaEntered)
    assert engine_text(header) == "PyTorch 2.12.1 (installed, observed), cuda: none"
    assert build_of(header) == name
