"""A program that prints: what printing takes is hidden at first, said so, and there when asked for."""

from __future__ import annotations

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.trace import Trace
from tests.steps import step

from .screens import Reader, read


def printing() -> Trace:
    x = torch.tensor([1.5, 2.0])
    with dispatchviz.record() as trace:
        str(x)
        x + 1
    return Trace(trace.header, list(trace))


def test_printing_is_passed_over_until_all_steps_are_asked_for() -> None:
    trace = printing()
    formatted = step(trace, ev.TensorFormatted)
    after = trace.ends[formatted] + 1

    async def reads(reader: Reader) -> None:
        await reader.press("right")
        assert "90 calls" in reader.text
        await reader.press("g")
        while reader.app.session.cursor.at < formatted:
            await reader.press("s")
        await reader.press("s")
        assert reader.app.session.cursor.at == after
        await reader.press("plus", "plus", "S")
        assert reader.app.session.cursor.at == after - 1

    read(trace, reads, level=DEFAULT)
