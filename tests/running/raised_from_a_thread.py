"""``python raised_from_a_thread.py COUNT SEED``: a program into which another thread raises at random moments. It
prints how many exceptions did not reach it.
"""

from __future__ import annotations

import ctypes
import queue
import random
import sys
import threading
import time
from typing import Any

import torch

KINDS = (KeyboardInterrupt, MemoryError, RecursionError, RuntimeError, ValueError)
"""No TypeError: PyTorch's operators make NotImplemented of it. No AttributeError: every ``hasattr`` takes it."""
chosen = random.Random(int(sys.argv[2]))
wanted: queue.Queue[tuple[float, type[BaseException]] | None] = queue.Queue()
"""After how many seconds the other thread raises, and what."""
is_set = threading.Event()
main_thread = threading.get_ident()


def raise_in_main() -> None:
    while (each := wanted.get()) is not None:
        time.sleep(each[0])
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main_thread), ctypes.py_object(each[1]))
        is_set.set()


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
    items = [each.detach() * 2 for each in (x, y)]
    sorted(items, key=lambda each: float(each.sum()))
    str(items[0][0].view(3, 1).expand(3, 2))


def is_met(kind: type[BaseException], seconds: float) -> bool:
    is_set.clear()
    met = False
    torch.set_grad_enabled(True)  # an exception in `no_grad.__exit__` leaves it off, in PyTorch too
    try:
        wanted.put((seconds, kind))
        while not is_set.is_set():
            work()
        work()  # it comes at the next function at the latest
    except kind:
        met = True
    is_set.wait()
    return met


def main() -> None:
    count = int(sys.argv[1])
    work()
    begun = time.perf_counter()
    work()
    length = time.perf_counter() - begun
    threading.Thread(target=raise_in_main, daemon=True).start()
    swallowed = 0
    for _ in range(count):
        kind = chosen.choice(KINDS)
        own = type("Own" + kind.__name__, (kind,), {})
        swallowed += not is_met(own, chosen.random() * length)
    wanted.put(None)
    print(count, "raised", swallowed, "swallowed")


main()
