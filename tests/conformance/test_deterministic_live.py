"""The stored programs with deterministic algorithms requested: the same calls, which fill memory, the same refusals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatchviz import torch as model
from tests.amounts import some
from tests.model_runs import model_record
from truth import records
from truth.formats.dispatch_log import calls
from truth.programs import PROGRAMS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

IMPORT = "import torch\n"
REQUEST = "torch.use_deterministic_algorithms(True)\n"


@pytest.fixture(autouse=True)
def requested_no_more() -> Iterator[None]:
    yield
    torch.use_deterministic_algorithms(False)
    model.use_deterministic_algorithms(False)


def watched(name: str) -> bool:
    """Those on the meta device are not, nor is CUDA without a GPU."""
    record = records.programs()[name]
    return record["log"] is not None and "cuda" not in record["source"]


@pytest.mark.parametrize("name", some([name for name in PROGRAMS if watched(name)], 10))
def test_a_program_calls_what_it_calls_on_pytorch(name: str) -> None:
    from truth.recorders.programs import load_what_is_lazy, unwatched

    load_what_is_lazy()
    source = IMPORT + REQUEST + records.programs()[name]["source"].removeprefix(IMPORT)
    expected, found = unwatched(source), model_record(source)
    assert calls(found["log"]) == expected["called"], source
    assert [found[part] for part in ("error", "warnings")] == [expected[part] for part in ("error", "warnings")], source
