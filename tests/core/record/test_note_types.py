"""Each note has one declaration, with which the type checker, the event builder and a running program agree."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.graph.node_life import NodeLife
from dispatchviz.core.record import note_types
from dispatchviz.core.record.builders.builder_base import NOTES
from dispatchviz.running.user_lines import ProgramEventBuilder

ROOT = Path(__file__).parents[3]


def members(union: Any) -> list[Any]:
    """The tuples of a union, including nested unions."""
    if get_origin(union) in (UnionType, Union):
        return [member for part in get_args(union) for member in members(part)]
    return [] if union is note_types.EventNote else [union]


DECLARED = {get_args(get_args(note)[0])[0]: get_args(note)[1:] for note in members(note_types.Note)}


def test_each_note_type_has_another_name() -> None:
    assert len(DECLARED) == len(members(note_types.Note)) > 50
    assert all(get_origin(get_args(note)[0]) is Literal for note in members(note_types.Note))


@pytest.mark.parametrize("name", DECLARED)
def test_builder_methods_take_exactly_the_facts_of_a_note(name: str) -> None:
    assert name in NOTES
    method = getattr(ProgramEventBuilder, name)
    hints = get_type_hints(method, localns=vars(note_types))
    assert tuple(hints[parameter] for parameter in list(inspect.signature(method).parameters)[1:]) == DECLARED[name]


WRONG = {
    '("guard_left", "G", 1, 2)': True,
    '("guard_lost", "G", 1, 2)': False,
    '("guard_left", "G", 1)': False,
    '("guard_left", 1, "G", 2)': False,
    '("event", "G", ())': False,
}
WRONG_EVENTS = {'ev.NameBound, "x", 1': True, 'ev.NameBound, 1, "x"': False, 'ev.NameBound, "x"': False}


@pytest.mark.long
def test_the_type_checker_refuses_a_wrong_note(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="needs the type checker")
    lines = [f"rec.note({note})" for note in WRONG] + [f"rec._emit({fields})" for fields in WRONG_EVENTS]
    head = [
        "from dispatchviz.core.record import events as ev",
        "from dispatchviz.core.record.machine_recorder import Recorder",
        "rec = Recorder()",
    ]
    (tmp_path / "notes_of_a_test.py").write_text("\n".join([*head, *lines]) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    done = subprocess.run(
        [*command, str(tmp_path / "notes_of_a_test.py")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    refused = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    right = [*WRONG.values(), *WRONG_EVENTS.values()]
    assert refused == {len(head) + 1 + i for i, is_right in enumerate(right) if not is_right}, done.stdout + done.stderr


def test_program_emits_only_declared_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions that run kernels are compiled from a text, which no type checker reads."""
    read = ProgramEventBuilder.read
    seen: set[str] = set()

    def checked(self: ProgramEventBuilder, notes: list[Any]) -> None:
        at = 0
        while at < len(notes):
            name = notes[at]
            if isinstance(name, (NodeLife, int)):  # the integer is the thread that frees the next one
                if isinstance(name, NodeLife):
                    seen.add("a Node ends")
                at += 1
                continue
            facts = DECLARED.get(name, (object, object))
            assert name in DECLARED or name in ("event", "span")
            for fact, kind in zip(notes[at + 1 :], facts, strict=False):
                assert kind not in (int, str, bool) or isinstance(fact, kind), (name, fact)
            seen.add(name)
            at += 1 + len(facts)
        assert at == len(notes)
        read(self, notes)

    monkeypatch.setattr(ProgramEventBuilder, "read", checked)
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sin()
        y.add_(1)
        y.sum().backward()
        del y
        with pytest.raises(RuntimeError):
            torch.add(x, torch.ones(3))
    assert not trace.notice
    assert {
        "called_with_one", "called_with_two", "returned_one", "redispatched_within", "failed", "a Node ends",
    } <= seen  # fmt: skip
