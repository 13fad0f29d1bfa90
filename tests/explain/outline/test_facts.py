"""What a row says of the steps below it: casts, prints, warnings."""

from __future__ import annotations

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.facts import facts
from dispatchviz.explain.outline.overview import counts
from tests.explain.programs import traced
from tests.steps import line


def told(trace: Trace, number: int) -> list[str]:
    """The facts of a line of the program, up to the next one."""
    begin = line(trace, number)
    after = [step for step in trace.steps_of(type(trace[begin])) if step > begin]
    return [text for text, _ in facts(trace, begin, (after[0] if after else len(trace)) - 1)]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_autocast_casts(device: str) -> None:
    trace = traced(f"""\
        import torch

        w = torch.ones(2, 2, device="{device}", requires_grad=True)
        x = torch.ones(2, 2, device="{device}")
        with torch.autocast("{device}", dtype=torch.bfloat16):
            y = x @ w
            z = x * w
            loss = torch.nn.functional.mse_loss(y, x)
    """)
    assert "w, x cast to bfloat16" in told(trace, 6)
    assert not [text for text in told(trace, 7) if "cast" in text]
    assert "y cast to float32" in told(trace, 8)


def test_many_casts_are_counted() -> None:
    trace = traced("""\
        import torch

        xs = [torch.ones(2, 2) for _ in range(5)]
        with torch.autocast("cpu"):
            ys = [x @ x for x in xs]
    """)
    every = [text for text, _ in facts(trace, line(trace, 4), len(trace) - 1)]
    assert "10 casts by autocast" in every


def test_the_last_of_many_prints() -> None:
    trace = traced("""\
        import torch

        for i in range(500):
            print("step", i)
        print("done")
    """)
    begin, end = line(trace, 3), line(trace, 5) - 1
    assert [text for text, _ in facts(trace, begin, end)] == ["> prints 500 times, last: step 499"]
    assert told(trace, 5) == ["> done"]


def test_warnings_are_counted() -> None:
    trace = traced("""\
        import warnings
        import torch

        warnings.simplefilter("default")
        warnings.warn("one")
        warnings.warn("two")
    """)
    assert counts(trace) == "5 lines · 2 warnings"
    assert told(trace, 5) == ["! UserWarning"]
    assert [text for text, _ in facts(trace, 0, len(trace) - 1)] == ["! 2 warnings"]


def test_kernels_that_are_registered_and_removed() -> None:
    trace = traced("""\
        import torch

        lib = torch.library.Library("aten", "IMPL")
        lib.impl("add.Tensor", lambda x, y: x, "PrivateUse1"); lib.impl("mul.Tensor", lambda x, y: x, "PrivateUse1")
        lib._destroy()
        print("end")
    """)
    assert "+ 2 kernels registered" in told(trace, 4)
    assert told(trace, 5) == ["- 2 kernels removed"]
    assert told(trace, 6) == ["> end"]
