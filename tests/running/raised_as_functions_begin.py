"""``python raised_as_functions_begin.py STEP``: a program into which an exception is raised as each function of the
recorder or the model begins, at every STEP-th call. It prints how many did not reach it, and where.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

import torch


class OwnError(Exception):
    """Of the program."""


def handler(number: int, frame: object) -> None:
    raise OwnError


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


def doubled(grad: Any) -> Any:
    return grad * 2


def work() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2 + 1).sum()
    y.register_hook(doubled)
    y.grad_fn.register_hook(lambda *_: None)
    y.grad_fn.register_prehook(lambda *_: None)
    x.register_post_accumulate_grad_hook(lambda _: None)
    y.retain_grad()
    z = Square.apply(x).sum() + y
    z.backward()
    guard = torch._C._AutoDispatchBelowAutograd()
    del guard
    library = torch.library.Library("own", "DEF")
    library.define("one(Tensor a) -> Tensor")
    library.impl("one", lambda a: a.clone(), "CPU")
    torch.ops.own.one(x.detach())
    del library
    items = [each.detach() * 2 for each in (x, y)]
    sorted(items, key=lambda each: float(each.sum()))
    str(items[0][0].view(3, 1).expand(3, 2))


class Moments:
    """Raises a signal as the function of a given number begins."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.left = 0
        self.where = ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_lasti < 1 and self._package in frame.f_code.co_filename:
            self.left -= 1
            if not self.left:
                sys.setprofile(None)
                self.where = f"{frame.f_code.co_qualname} ({frame.f_code.co_filename.rpartition(self._package)[2]})"
                signal.raise_signal(signal.SIGUSR1)


def reached(moments: Moments) -> bool:
    """Whether the program gets it, at once or with what it calls next."""
    torch.set_grad_enabled(True)  # an exception in `no_grad.__exit__` leaves it off, in PyTorch too
    try:
        sys.setprofile(moments)
        work()
        sys.setprofile(None)
        torch.ones(1).sum()
    except OwnError:
        return True
    finally:
        sys.setprofile(None)
    return False


def main() -> None:
    signal.signal(signal.SIGUSR1, handler)
    moments = Moments("/dispatchviz/")
    work()
    work()
    step = int(sys.argv[1])
    number = raised = 0
    lost: list[str] = []
    while True:
        number += step
        moments.left, moments.where = number, ""
        met = reached(moments)
        if not moments.where:
            break
        raised += 1
        if not met:
            lost.append(moments.where)
    print(raised, "raised", len(lost), "swallowed", *lost)


main()
