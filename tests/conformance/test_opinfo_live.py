"""Every operator of PyTorch's ``op_db`` that the model has, on PyTorch's own samples of it: errors, numbers within
PyTorch's tolerances, dtypes, shapes, strides, views, gradients, second gradients.

A few samples of each kind are tried, with ``make thorough`` more, with DISPATCHVIZ_OPINFO_ALL=1 all of them. A known
difference must still occur with ``make thorough``. The counts are printed at the end. ``python -m
tests.conformance.opinfo add mul`` prints differences.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's op_db needs expecttest")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    from tests.conformance.opinfo.checks import FEW, check
    from tests.conformance.opinfo.functions import NotHere
    from tests.conformance.opinfo.report import report


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=lambda op: op.full_name)
def test_an_operator_agrees_with_pytorch_on_its_samples(
    op: Any, record_property: Callable[[str, object], None]
) -> None:
    try:
        found = report(op.full_name, check(op))
    except NotHere:
        found = None
    if found is None or found.is_missing:
        record_property("opinfo_missing", op.full_name)
        pytest.skip("not here; the table below names all such operators")
    record_property("opinfo_row", found.row())
    assert not found.differing, found.text
    assert FEW or not found.unneeded, f"known differences that do not occur: {found.unneeded}"
