"""The sentences of a step agree with its values, with its row and with its panes."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import warnings
from pathlib import Path

import pytest

from dispatchviz.explain.kinds import dispatch
from dispatchviz.explain.sentences import functorch_sentences
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from scripts.sentences.__main__ import PAGE
from tests.amounts import THOROUGH, some
from tests.claims.together.reading import contradictions, steps_of, unread
from tests.claims.together.rows import wrong_rows
from truth.programs import PROGRAMS
from truth.records import programs

for part in ("engine", "errors", "key_sets", "rules"):
    importlib.import_module(f"tests.claims.together.{part}")

NAMES = [name for name, subject in programs().subjects.items() if THOROUGH or subject != "printing"]
"""The programs without those that print, which take many similar steps. ``make thorough`` reads these, too."""

SHOWN = 10
"""The number of contradictions that are shown."""


def trace_of(source: str, folder: Path) -> Trace:
    """Return the trace of a program."""
    script = folder / "program.py"
    script.write_text(source, encoding="utf-8")
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return run(str(script), output=io.StringIO()).trace


def found_in(trace: Trace) -> list[str]:
    """Return all contradictions of a trace."""
    problems = [f"step {step.seq}, {problem}" for step in steps_of(trace) for problem in contradictions(step)]
    return problems + list(wrong_rows(trace))


def test_every_counting_sentence_has_a_reader() -> None:
    """Read the example of each kind on the page, so that no kind is forgotten that the sampled programs lack."""
    sections = re.split(r"\n## explain/(?:kinds|sentences)/", PAGE.read_text("utf-8"))[1:]
    parts = (section.partition("\n## ")[0] for section in sections)
    sentences = [found for part in parts for found in re.findall(r"^### (.+)\n\n> (.+)$", part, re.MULTILINE)]
    assert len(sentences) > 200
    assert [(kind, word) for kind, text in sentences for word in unread(kind, text)] == []


CONTRADICTED_ONCE = """
import torch

x = torch.ones(2, 3, requires_grad=True)
torch.vmap(torch.sin)(x)
torch.func.grad(lambda a: a.sin().sum())(x.detach())
optimizer = torch.optim.SGD([x], lr=0.1)
x.sum().backward()
optimizer.step()
with torch.autocast("cpu"):
    y = torch.mm(x, x.T) + torch.mm(x, x.T)
y = torch.ones(2, 3, 4)[True, :, True]
nothing = torch.tensor(1.0)
(x * 2).sum().backward(inputs=[torch.ones(2, requires_grad=True)])
with torch.no_grad():
    view = x[1:]
view * 2
view[:1]
"""
"""Programs that contradicted their sentences once: guards of transforms, a call without keys, a cast that is kept, an
undefined tensor among the arguments, a variable named like a word of ours, a pass that reaches no requested Node, empty
edges of a view.
"""


@pytest.fixture(scope="module")
def contradicted_once(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return trace_of(CONTRADICTED_ONCE, tmp_path_factory.mktemp("once"))


def test_former_contradictions_are_gone(contradicted_once: Trace) -> None:
    assert found_in(contradicted_once) == []


def test_former_contradictions_would_be_found(monkeypatch: pytest.MonkeyPatch, contradicted_once: Trace) -> None:
    """The sentences of before, beside the values of now."""
    trace = contradicted_once
    monkeypatch.setattr(functorch_sentences, "_kept", lambda guard: "all keys but its own are excluded")
    old = "no argument has a key, or all of them are excluded"
    monkeypatch.setattr(dispatch, "_why_empty", lambda event: old)
    found = [each.split("\n    ") for each in found_in(trace)]
    guards = [
        problem for sentence, problem in found if "its own are excluded." in sentence and problem.startswith("not ")
    ]
    assert all("FuncTorchDynamicLayerBackMode, Python, Fake, BackendSelect" in problem for problem in guards)
    assert len(guards) > 1
    calls = [problem for sentence, problem in found if f"{old}." in sentence]
    assert "not excluded are ADInplaceOrView, BackendSelect" in calls


def test_a_variable_with_a_capital_is_found(monkeypatch: pytest.MonkeyPatch, contradicted_once: Trace) -> None:
    monkeypatch.setattr(dispatch, "argument_names", lambda trace, computed: ())
    assert [each for each in found_in(contradicted_once) if each.endswith("\n    the variable is nothing")]


@pytest.mark.long
def test_no_step_of_a_stored_program_contradicts_itself(tmp_path: Path) -> None:
    found = [
        f"{name}: {each}" for name in some(sorted(NAMES), 500) for each in found_in(trace_of(PROGRAMS[name], tmp_path))
    ]
    assert not found, f"{len(found)} contradictions\n" + "\n".join(found[:SHOWN])
