"""The examples in the docstrings of the installed PyTorch have the same effect on it and on the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.check_runs import PHRASES, two_runs
from dispatchviz.running.program_source import Code
from dispatchviz.views.cards.check_text import check_lines
from dispatchviz.views.text.console import Console
from tests.amounts import THOROUGH
from tests.live.docstring_programs import BEGIN, examples, that_run

GROUPS = 36
"""The number of programs that are made from all examples."""


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.skipif(not THOROUGH, reason="takes ten minutes")
@pytest.mark.parametrize("group", range(GROUPS))
def test_pytorchs_own_examples_do_what_the_model_does(
    group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some examples write files
    known = examples()
    chosen = [(name, that_run(known[name])) for name in sorted(known)[group::GROUPS]]
    program = BEGIN + "".join(f"# {name}\n{''.join(statements)}" for name, statements in chosen if statements)
    found = two_runs(Code(program), ())
    # the output has last bits, which docs/differences.md names
    assert found.comparison.same, "\n".join(check_lines(found, PHRASES, Console(100, False), every=True))
