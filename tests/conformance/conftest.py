"""The tests here need a real PyTorch, which `make conformance` provides."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all of them ``torch``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.torch)
