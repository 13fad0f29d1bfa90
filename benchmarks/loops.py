"""Training loops on small tensors, on the model and on the installed PyTorch: a polynomial is fitted to the sine.

    python -m benchmarks.loops               (with PyTorch where it is installed)

The loop is written in three ways, as beginners meet them: with gradients by hand, with autograd, and with modules and
an optimizer. Both run in this process, alternate, and are measured in processor time on one thread; the smallest round
of each counts.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.sizes import is_installed, judge, often
from dispatchviz import torch as model

ROUNDS, ITERATIONS = often(7), often(200)
BARS = {
    "polynomial by hand, of PyTorch": 5.0,
    "polynomial with autograd, of PyTorch": 5.0,
    "polynomial with nn and an optimizer, of PyTorch": 5.0,
}

Loop = Callable[[Any], None]


def by_hand(torch: Any) -> None:
    """Fit the polynomial with derivatives that are written out."""
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    a, b, c, d = (torch.randn(()) for _ in range(4))
    for _ in range(ITERATIONS):
        predicted = a + b * x + c * x**2 + d * x**3
        (predicted - y).pow(2).sum().item()
        slope = 2.0 * (predicted - y)
        a -= 1e-6 * slope.sum()
        b -= 1e-6 * (slope * x).sum()
        c -= 1e-6 * (slope * x**2).sum()
        d -= 1e-6 * (slope * x**3).sum()


def with_autograd(torch: Any) -> None:
    """Fit the polynomial with ``backward`` and updates under ``no_grad``."""
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    weights = [torch.randn((), requires_grad=True) for _ in range(4)]
    a, b, c, d = weights
    for _ in range(ITERATIONS):
        predicted = a + b * x + c * x**2 + d * x**3
        (predicted - y).pow(2).sum().backward()
        with torch.no_grad():
            for weight in weights:
                weight -= 1e-6 * weight.grad
                weight.grad = None


def with_modules(torch: Any) -> None:
    """Fit the polynomial with a linear layer, a loss and an optimizer."""
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    powers = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
    net = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
    loss_of = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for _ in range(ITERATIONS):
        loss = loss_of(net(powers), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


LOOPS: dict[str, Loop] = dict(zip(BARS, (by_hand, with_autograd, with_modules), strict=True))


def seconds(loop: Loop, torch: Any) -> float:
    """Return the processor seconds of a loop."""
    begin = time.process_time()
    loop(torch)
    return time.process_time() - begin


def main() -> int:
    """Print the ratios, and return 1 if a bar is missed. Without PyTorch, print the model's times alone."""
    contestants: list[Any] = [model]
    if is_installed("torch"):
        import torch

        torch.set_num_threads(1)
        contestants.append(torch)
    results = {}
    for name, loop in LOOPS.items():
        rounds = [[seconds(loop, each) for each in contestants] for _ in range(ROUNDS)]
        least = [min(times) for times in zip(*rounds, strict=True)]
        print(f"  {name.partition(',')[0]}: {least[0] / ITERATIONS * 1e6:.0f} us an iteration on the model")
        if len(least) > 1:
            results[name] = least[0] / least[1]
    return judge(results, BARS, "torch")


if __name__ == "__main__":
    sys.exit(main())
