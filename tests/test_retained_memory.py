"""A recording to a file keeps at most four bytes of memory for each event, for all kinds of new objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dispatchviz import torch as model
from dispatchviz.running.recording import EngineName
from tests.retained_memory import growth_per_event

AT_MOST: dict[EngineName, float] = {"model": 0.5, "torch": 4}
"""The most bytes for each event."""
AT_MOST_IN_CYCLES = 4
"""The most bytes for a loop whose Nodes the garbage collector frees, because nothing reports that to the recorder."""


def add(torch: Any) -> Callable[[], None]:
    """Create new tensors and new Nodes."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)

    def iteration() -> None:
        z = torch.add(x, y)
        torch.add(z, y)

    return iteration


def without_grad(torch: Any) -> Callable[[], None]:
    """Create new tensors but no Nodes."""
    x = torch.ones(2, requires_grad=True)

    def iteration() -> None:
        with torch.no_grad():
            z = x + 1
            z.mul_(2)

    return iteration


def train(torch: Any) -> Callable[[], None]:
    """Run a backward pass and an optimizer."""
    net = torch.nn.Linear(2, 2)
    optimizer, y = torch.optim.SGD(net.parameters(), lr=0.1), torch.ones(2)

    def iteration() -> None:
        optimizer.zero_grad()
        loss = net(y).sum()
        loss.backward()
        optimizer.step()

    return iteration


def function(torch: Any) -> Callable[[], None]:
    """Run a custom Function."""

    class Twice(torch.autograd.Function):  # type: ignore[misc]  # of either engine
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(2, requires_grad=True)

    def iteration() -> None:
        z = Twice.apply(x)
        z.sum().backward()

    return iteration


def backward(torch: Any) -> Callable[[], None]:
    """Run a backward pass that needs no gradient of one leaf, and one that fails."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def iteration() -> None:
        z = (x * y).sum()
        torch.autograd.grad(z, x)
        with pytest.raises(RuntimeError, match="second time"):
            z.backward()

    return iteration


def cycle(torch: Any) -> Callable[[], None]:
    """Create Nodes that the garbage collector frees; an installed PyTorch reuses their addresses."""
    x = torch.ones(2, requires_grad=True)

    def iteration() -> None:
        holder = [x * 2]
        holder.append(holder)

    return iteration


LOOPS = [add, without_grad, train, function, backward]


def check(loop: Any, torch: Any, engine: EngineName, folder: Path, small: pytest.MonkeyPatch) -> None:
    """Check the growth of one loop."""
    iterations = 80 if loop in (add, cycle) else 20
    at_most = AT_MOST_IN_CYCLES if loop is cycle else AT_MOST[engine]
    assert growth_per_event(loop(torch), engine, folder / "run.dvtrace", small, iterations) <= at_most


@pytest.mark.long
@pytest.mark.parametrize("loop", [*LOOPS, cycle])
def test_the_model_keeps_little(loop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(loop, model, "model", tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.parametrize("loop", LOOPS)
def test_the_recorder_of_an_installed_pytorch_keeps_little(
    loop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(loop, pytest.importorskip("torch"), "torch", tmp_path, monkeypatch)
