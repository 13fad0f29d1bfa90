"""``python raised.py HOW COUNT SEED``: a program into which exceptions are raised while it runs.

They come at COUNT random moments from a handler of signals or from another thread, or as every COUNT-th function of the
recorder or the model begins. The program prints how many did not reach it, and where.
"""

from __future__ import annotations

import ctypes
import queue
import random
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

import torch

HOW, COUNT, chosen = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))


class OwnError(Exception):
    """An error of the program."""


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
    if HOW == "functions":
        registrations(x, y)
    z = Square.apply(x).sum() + y
    z.backward()
    assert (x == 1).all()
    assert not (x < 1).any()
    items = [each.detach() * 2 for each in (x, y)]
    sorted(items, key=lambda each: float(each.sum()))
    str(items[0][0].view(3, 1).expand(3, 2))


def registrations(x: Any, y: Any) -> None:
    y.grad_fn.register_hook(lambda *_: None)
    y.grad_fn.register_prehook(lambda *_: None)
    x.register_post_accumulate_grad_hook(lambda _: None)
    y.retain_grad()
    guard = torch._C._AutoDispatchBelowAutograd()
    del guard
    library = torch.library.Library("own", "DEF")
    library.define("one(Tensor a) -> Tensor")
    library.impl("one", lambda a: a.clone(), "CPU")
    torch.ops.own.one(x.detach())
    del library


def length() -> float:
    """Return the seconds that the work takes."""
    work()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def handlers() -> int:
    kinds = (TimeoutError, RuntimeError, ValueError, NotImplementedError, OwnError)
    raised: list[Exception] = []

    def handler(number: int, frame: object) -> None:
        raised.append(chosen.choice(kinds)("from the handler"))
        raise raised[-1]

    signal.signal(signal.SIGALRM, handler)
    swallowed, seconds = 0, length()
    while len(raised) < COUNT:
        before, met = len(raised), None
        torch.set_grad_enabled(True)  # an exception in `no_grad.__exit__` leaves it off, in PyTorch too
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, chosen.random() * seconds))
            while len(raised) == before:
                work()
        except Exception as error:
            met = error
        swallowed += met is not raised[-1]
    return swallowed


def thread() -> int:
    # No TypeError: PyTorch's operators make NotImplemented of it. No AttributeError: every ``hasattr`` takes it.
    kinds = (KeyboardInterrupt, MemoryError, RecursionError, RuntimeError, ValueError)
    wanted: queue.Queue[tuple[float, type[BaseException]] | None] = queue.Queue()
    is_set, main_thread = threading.Event(), threading.get_ident()

    def raise_in_main() -> None:
        while (each := wanted.get()) is not None:
            time.sleep(each[0])
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main_thread), ctypes.py_object(each[1]))
            is_set.set()

    swallowed, seconds = 0, length()
    threading.Thread(target=raise_in_main, daemon=True).start()
    for _ in range(COUNT):
        kind = chosen.choice(kinds)
        own: type[BaseException] = type("Own" + kind.__name__, (kind,), {})
        is_set.clear()
        swallowed += 1
        torch.set_grad_enabled(True)
        try:
            wanted.put((chosen.random() * seconds, own))
            while not is_set.is_set():
                work()
            work()  # it comes at the next function at the latest
        except own:
            swallowed -= 1
        is_set.wait()
    wanted.put(None)
    return swallowed


class Moments:
    """A profile function that raises a signal as the function with a given number begins."""

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


def own_error(number: int, frame: object) -> None:
    raise OwnError


def reached(moments: Moments) -> bool:
    """Return whether the program gets the exception, at once or in its next call."""
    torch.set_grad_enabled(True)
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


def functions() -> int:
    signal.signal(signal.SIGUSR1, own_error)
    length()
    moments, number, swallowed = Moments("/dispatchviz/"), 0, 0
    while True:
        number += COUNT
        moments.left, moments.where = number, ""
        met = reached(moments)
        if not moments.where:
            return swallowed
        if not met:
            swallowed += 1
            print("lost", moments.where)


print(COUNT, HOW, globals()[HOW](), "swallowed")
