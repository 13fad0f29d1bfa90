"""Operators that are registered when all keys are watched already."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Told(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))


print(torch.ones(2, device="meta") + 1)
with Told():
    print(torch.ones(2) + 1)


@torch.library.custom_op("late::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@double.register_fake
def _(x):
    return torch.empty_like(x)


double.register_autograd(lambda ctx, grad: grad * 2)
x = torch.ones(2, requires_grad=True)
with Told():
    double(x).sum().backward()
print(x.grad, double(torch.ones(2, device="meta")), double(x).grad_fn)
library = torch.library.Library("late", "FRAGMENT")
library.define("half(Tensor x) -> Tensor")
for kernel in (lambda x: x / 2, lambda x: x * 0.5):
    try:
        print(torch.ops.late.half(torch.ones(2)))
    except NotImplementedError as error:
        print(error)
    library.impl("half", kernel, "CPU")
    print(torch.ops.late.half(torch.ones(2)))
try:
    torch.ops.late.half(torch.ones(2, device="meta"))
except NotImplementedError as error:
    print(error)
torch.library.register_fake("late::half", lambda x: x.new_empty(x.shape), lib=library)
print(torch.ops.late.half(torch.ones(2, device="meta")))
with Told():
    print(torch.ops.late.half(torch.ones(2)))
    with torch.inference_mode():
        try:
            torch.ones(2).crow_indices()
        except Exception as error:
            print(type(error), error)
with torch.inference_mode():
    for wrong in (
        lambda: torch.ones(2).coalesce(),
        lambda: torch.ones(2).values(),
        lambda: torch.ones(2).crow_indices(),
    ):
        try:
            wrong()
        except Exception as error:
            print(type(error), error)
torch.library.register_torch_dispatch(
    "late::half", Told, lambda mode, func, types, args, kwargs: print("rule") or func(*args)
)
with Told():
    torch.ops.late.half(torch.ones(2))
print(torch._C._dispatch_has_kernel_for_dispatch_key("late::half", "Meta"))
