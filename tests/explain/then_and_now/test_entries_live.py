"""An installed PyTorch says what the statements and reasons say, and has the names in the files that they name."""

from __future__ import annotations

import pytest

from dispatchviz.explain.sentences.then_and_now.reasons.all_reasons import REASONS
from dispatchviz.explain.sentences.then_and_now.statements.past_statements import STATEMENTS
from tests.amounts import some
from tests.explain.then_and_now.all_checks import CHECKS
from tests.explain.then_and_now.installed import compiled, has_symbol, path_of, text

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("ident", some(list(CHECKS), 2))
def test_pytorch_says_so(ident: str) -> None:
    CHECKS[ident]()


@pytest.mark.parametrize(("file", "name"), sorted({entry.source for entry in (*STATEMENTS, *REASONS)}))
def test_the_name_is_in_the_file(file: str, name: str) -> None:
    """A C++ file that is not installed is one that was compiled, and the name is that of a symbol."""
    if file.endswith(".cpp"):
        assert file.rpartition("/")[2] in compiled()
        assert has_symbol(name)
    else:
        assert path_of(file).exists()
        assert name in text(file)
