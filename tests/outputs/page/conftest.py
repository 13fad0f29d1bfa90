"""One browser for all tests of the page, and the programs that most of them show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.program import run
from tests.tui.programs import example

if TYPE_CHECKING:
    from tests.outputs.page.browser import Page

LOOP = """\
import torch
def f(t):
    u = t * 2
    return u + 1
x = torch.ones(2, requires_grad=True)
for i in range(3):
    y = f(x)
    y = f(y)
y.sum().backward()
"""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Page]:
    from tests.outputs.page.browser import browser  # not where PyTorch alone is tested

    with browser() as page:
        yield page


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def forum() -> Trace:
    return example("forum.py")


@pytest.fixture(scope="session")
def loop(folder: Path) -> Trace:
    (folder / "loop.py").write_text(LOOP)
    return run(str(folder / "loop.py")).trace


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    """Yield the browser's page in its initial state. Fail if it complains or requests anything meanwhile."""
    chromium.size(1280, 900)
    chromium.scheme("light")
    chromium.complaints.clear()
    chromium.requests.clear()
    yield chromium
    chromium.evaluate("0")  # reads the messages that the browser has sent meanwhile
    assert not chromium.complaints
    assert not chromium.requests
