"""Texts of recorded numbers in diagnoses."""

from __future__ import annotations

import pytest

from dispatchviz.explain.diagnosis.silent.recorded_numbers import LONGEST, short

ZEROS = ", ".join(["0.0"] * 20)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ("[1.0, nan]", "[1.0, nan]"),
        (f"[{ZEROS}]", f"[{', '.join(['0.0'] * 9)}, ...]"),
        (f"[nan, {ZEROS}]", f"[nan, {', '.join(['0.0'] * 8)}, ...]"),
        (f"[{ZEROS}, nan]", f"[{', '.join(['0.0'] * 9)}, ..., nan]"),
        (f"[{ZEROS}, -inf, nan]", f"[{', '.join(['0.0'] * 9)}, ..., -inf, ...]"),
        (f"[[{ZEROS}], [nan]]", f"[[{', '.join(['0.0'] * 9)}, ..., nan]"),
    ],
)
def test_a_long_text_keeps_the_first_number_that_is_not_finite(numbers: str, shown: str) -> None:
    assert short(numbers) == shown
    assert len(short(numbers)) < LONGEST + 20
