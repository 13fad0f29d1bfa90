"""The fixture ``torch``: the model and, with the mark ``torch``, the real one, which vouches for these tests."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


@pytest.fixture(params=["model", pytest.param("pytorch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    """The module under the name that programs use."""
    if request.param == "model":
        return importlib.import_module("dispatchviz.torch")
    return pytest.importorskip("torch")
