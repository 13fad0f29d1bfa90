"""Whatever a program has written comes out of the page as itself, in a real browser."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.page.player_page import player_page
from tests.explain.programs import traced
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, go

pytestmark = IN_BROWSER


TEXTS = (
    "{}|<>\"\\'&amp;",
    "</script><script>window.broken = 1</script>",
    "<!-- <img src=x onerror=window.broken=1> -->",
    "<b>bold</b> ${broken} {{script}}",
    "مرحبا بالعالم",
    "👩‍💻🔥",
    "a\u2028b\u2029c",
)


@pytest.fixture(scope="module")
def short() -> Trace:
    return traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n")


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_out_as_themselves_and_nothing_executes(page: Page, folder: Path, short: Trace, text: str) -> None:
    header = short.header
    sources = {each: source.replace("True)", f"True)  # {text}") for each, source in header.sources.items()}
    changed = msgspec.structs.replace(
        header, program=f"{text}.py", sources={f"{text}.py": next(iter(sources.values()))}
    )
    names = [
        msgspec.structs.replace(event, name=text) if isinstance(event, ev.NameBound) and event.name == "x" else event
        for event in short.events
    ]
    lined = [msgspec.structs.replace(e, file=f"{text}.py") if isinstance(e, ev.SourceLine) else e for e in names]
    trace = Trace(changed, lined)
    path = folder / f"hostile{TEXTS.index(text)}.html"
    path.write_bytes(player_page(trace))
    page.open(path.as_uri())
    assert page.text("#program") == f"{text}.py"
    assert page.evaluate("document.title").startswith(text.replace("</script>", "</script>")) or "/" in text
    page.evaluate("S.own = [5, 6, 8]")
    for number in range(0, len(trace), 10):
        go(page, number)
    shown = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    assert text in page.text("#panes") or shown in page.text("#panes")
    assert page.evaluate("typeof window.broken") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, b:not(#program), #page script').length") == 0
