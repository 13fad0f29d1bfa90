"""``python raised_in_handlers.py COUNT SEED``: a program whose handler of signals raises at random moments. It prints
which exceptions did not reach it.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from typing import Any

import torch


class OwnError(Exception):
    """Of the program."""


KINDS = (TimeoutError, RuntimeError, ValueError, NotImplementedError, OwnError)
raised: list[Exception] = []
chosen = random.Random(int(sys.argv[2]))


def handler(number: int, frame: object) -> None:
    error = chosen.choice(KINDS)("from the handler")
    raised.append(error)
    raise error


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


def work() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2 + 1).sum()
    y.register_hook(lambda grad: grad * 2)
    z = Square.apply(x).sum() + y
    z.backward()
    assert (x == 1).all()
    assert not (x < 1).any()
    items = [each.detach() * 2 for each in (x, y)]
    sorted(items, key=lambda each: float(each.sum()))
    str(items[0][0].view(3, 1).expand(3, 2))


def main() -> None:
    count = int(sys.argv[1])
    signal.signal(signal.SIGALRM, handler)
    work()
    begun = time.perf_counter()
    work()
    length = time.perf_counter() - begun
    swallowed = 0
    while len(raised) < count:
        before, met = len(raised), None
        torch.set_grad_enabled(True)  # an exception in `no_grad.__exit__` leaves it off, in PyTorch too
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, chosen.random() * length))
            while len(raised) == before:
                work()
        except Exception as error:
            met = error
        swallowed += met is not raised[-1]
    print(len(raised), "raised", swallowed, "swallowed")


main()
