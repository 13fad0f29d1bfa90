"""``torch.autograd.Function`` in the model beside a real PyTorch, on random programs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.amounts import amount
from tests.conformance.function_programs import function_programs
from tests.conformance.test_live import assert_the_same, watched  # noqa: F401  a fixture

pytest.importorskip("torch")


@pytest.mark.long
@settings(max_examples=amount(100, 400), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(source=function_programs())
def test_random_functions_do_the_same(watched: None, source: str) -> None:  # noqa: F811
    """Every dispatch step, graphs and their order, autograd states, sequence numbers, values, errors."""
    assert_the_same(source, 1e-4)
