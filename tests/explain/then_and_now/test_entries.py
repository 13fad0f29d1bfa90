"""The statements and reasons: each has its texts and its check; an installed PyTorch says the same."""

from __future__ import annotations

import io
import shlex
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.then_and_now.all_entries import REASONS, STATEMENTS
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Reason, fits
from dispatchviz.explain.sentences.then_and_now.placing import Place, placed
from dispatchviz.running.program import run
from dispatchviz.testing import call, event
from scripts.then_and_now import DOCS, PAGES
from tests.amounts import some
from tests.explain.programs import traced
from tests.explain.then_and_now.all_checks import CHECKS
from tests.explain.then_and_now.installed import compiled, has_symbol, path_of, text
from tests.steps import line, step

ROOT = Path(__file__).parents[3]
ENTRIES: tuple[PastStatement | Reason, ...] = (*STATEMENTS, *REASONS)


@cache
def trace_of(program: str) -> Trace:
    """The trace of a program of ``dispatchviz run``: a file, or ``-c`` with code."""
    match shlex.split(program):
        case ["-c", code]:
            return traced(code)
        case [path]:
            return run(str(ROOT / path), (), io.StringIO()).trace
    raise ValueError(program)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.ident)
def test_program_shows_the_entry(entry: PastStatement | Reason) -> None:
    """The program must show the first kind of step; other programs may show the others."""
    assert any(fits(entry.steps[0], event) for event in trace_of(entry.shown_by))


def test_every_description_fits_a_step_of_some_program() -> None:
    programs = {entry.shown_by for entry in ENTRIES}
    wanted = {steps for entry in ENTRIES for steps in entry.steps}
    for program in sorted(programs):
        wanted -= {steps for steps in wanted if any(fits(steps, event) for event in trace_of(program))}
    assert wanted == set()


def test_names_differ_and_each_has_a_check() -> None:
    """A new statement could otherwise miss its check against PyTorch."""
    idents = [entry.ident for entry in ENTRIES]
    assert len(set(idents)) == len(idents)
    assert CHECKS.keys() == set(idents)


def test_texts_are_short_and_plain() -> None:
    for statement in STATEMENTS:
        assert len(statement.statement) < 250, statement.ident
        assert len(statement.today) < 300, statement.ident
    for reason in REASONS:
        sentences = reason.answer.replace("...", "").count(". ") + reason.answer.count("? ") + 1
        assert 3 <= sentences <= 6, reason.ident
        assert reason.question.endswith("?")
        assert not reason.look.endswith(".."), reason.ident
    assert all("`" not in str(entry) for entry in ENTRIES)


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_those_of_the_script(name: str) -> None:
    """Else: ``python -m scripts.then_and_now``."""
    assert (DOCS / name).read_text("utf-8") == PAGES[name]()


def test_a_step_has_its_own_statements_first() -> None:
    trace = trace_of("examples/forum.py")
    redispatch = step(trace, event(ev.Dispatched, how="redispatch", operator="aten::add.Tensor"))
    found = placed(trace, redispatch, REASONS)
    assert [each.entry.ident for each in found[:2]] == ["redispatch", "guard-and-mask"]
    assert found[0].place == Place.HERE
    assert found[0].step == redispatch
    assert len(found) == len(REASONS)
    assert [each.place for each in found] == sorted(each.place for each in found)


def test_a_line_has_those_of_what_happens_on_it() -> None:
    trace = trace_of("examples/forum.py")
    found = {each.entry.ident: each for each in placed(trace, line(trace, 6), STATEMENTS)}
    assert found["the-set-of-add"].place == Place.WITHIN
    assert found["the-set-of-add"].step == step(trace, event(ev.KeySetComputed, effective=0x1000010002))
    randn = found["backendselectregister"]
    assert randn.place == Place.ELSEWHERE
    assert randn.step == step(trace, call("aten::randn"), -1)  # the nearest one
    assert (found["proxies"].place, found["proxies"].step) == (Place.NOT_MET, None)


@pytest.mark.torch
@pytest.mark.parametrize("ident", some(list(CHECKS), 2))
def test_pytorch_confirms_the_entry(ident: str) -> None:
    CHECKS[ident]()


@pytest.mark.torch
@pytest.mark.parametrize(("file", "name"), sorted({entry.source for entry in (*STATEMENTS, *REASONS)}))
def test_the_name_is_in_the_file(file: str, name: str) -> None:
    """A C++ file that is not installed is one that was compiled, and the name is that of a symbol."""
    if file.endswith(".cpp"):
        assert file.rpartition("/")[2] in compiled()
        assert has_symbol(name)
    else:
        assert path_of(file).exists()
        assert name in text(file)
