"""A device of Python's, whose Nodes the engine evaluates on a thread of its own, as it does those of a GPU: hooks there,
a backward within a backward, an error, two threads at once."""

import threading
import time

import graph
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("npy")
library = torch.library.Library("aten", "IMPL")
seen = []


class Array(torch.Tensor):
    """A tensor of the device; its numbers are a CPU tensor."""

    def __new__(cls, numbers):
        made = torch._C._acc.create_empty_tensor(tuple(numbers.shape), numbers.dtype)
        made.__class__ = cls
        made.numbers = numbers
        return made

    def __init__(self, numbers):
        pass


def numbers_of(value):
    return value.numbers if isinstance(value, Array) else value


def put(name, function):
    def kernel(*args, **kwargs):
        seen.append((name, threading.current_thread() is threading.main_thread()))
        return function(*args, **kwargs)

    library.impl(name, kernel, "PrivateUse1")


def add_in_place(one, other, alpha=1):
    one.numbers += numbers_of(other)
    return one


put("add.Tensor", lambda one, other, alpha=1: Array(numbers_of(one) + numbers_of(other)))
put("add_.Tensor", add_in_place)
put("mul.Tensor", lambda one, other: Array(numbers_of(one) * numbers_of(other)))
put("detach", lambda one: Array(numbers_of(one)))
put("new_empty_strided", lambda one, size, stride, **_: Array(torch.empty_strided(size, stride)))
put("copy_", lambda one, other, non_blocking=False: (numbers_of(one).copy_(numbers_of(other)), one)[1])


def on_device(*numbers, grad=False):
    return Array(torch.tensor(numbers)).requires_grad_(grad)


class Squared(torch.autograd.Function):
    """A Function whose backward runs another one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            again = Array(numbers_of(x)).requires_grad_(True)
            (again * again).backward(gradient)
        return again.grad


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * on_device(1.0, 1.0)

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("no gradient from here")


x, y = on_device(1.0, 2.0, grad=True), on_device(3.0, 4.0)
z = torch.add(x, y)
w = z * y
print(w.device)
graph.walk(w)
w.backward(on_device(1.0, 1.0))
print(seen, x.grad.numbers)

del seen[:]
x.register_hook(lambda gradient: gradient * on_device(2.0, 2.0))
x.register_post_accumulate_grad_hook(lambda leaf: print("accumulated", leaf.grad.numbers))
out = Squared.apply(x + y) * y
out.backward(on_device(1.0, 1.0))
print(seen, x.grad.numbers)

try:
    Fails.apply(x * y).backward(on_device(1.0, 1.0))
except ValueError as error:
    print(error, x.grad.numbers)


def work(results, place):
    leaf = on_device(float(place), 1.0, grad=True)
    for _ in range(3):
        (leaf * leaf).backward(on_device(1.0, 1.0))
    results[place] = leaf.grad.numbers


results = {}
threads = [threading.Thread(target=work, args=(results, place)) for place in range(2)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(sorted((place, numbers.tolist()) for place, numbers in results.items()))
time.sleep(0.5)  # the device's thread lets go of the last gradients, for which the end of Python does not wait
