"""Whether the stored answers still are what PyTorch says."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch


def test_the_stored_answers_are_pytorchs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from tests.core.native import record

    assert record.main(["--check"]) == 0, capsys.readouterr().out
