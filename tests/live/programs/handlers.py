"""Handlers of __torch_dispatch__: one within another, with errors, with a say in sizes and devices."""

import traceback
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map


class Told(TorchDispatchMode):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(self.name, func, [kind.__name__ for kind in types], args, kwargs, torch._C._len_torch_dispatch_stack())
        print("  included", torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set())
        return func(*args, **(kwargs or {}))


class Refuses(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("refuses", func)
        return NotImplemented


class Raises(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise LookupError(f"not {func}")


class Wrong(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return "no tensor"


class Held(torch.Tensor):
    """A tensor that answers for its sizes itself, by calls of its handler."""

    policy = "sizes"

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            dtype=held.dtype,
            device=held.device,
            dispatch_sizes_strides_policy=cls.policy,
            dispatch_device=cls.policy is not None,
            dispatch_layout=cls.policy is not None,
        )

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print(cls.__name__, func, [kind.__name__ for kind in types])
        held = [one.held if isinstance(one, Held) else one for one in args]
        out = func(*held, **(kwargs or {}))
        return tree_map(lambda one: cls(one) if isinstance(one, torch.Tensor) else one, out)


class Quiet(Held):
    policy = None

    def size(self, *args):
        print("size is asked")
        return super().size(*args)


class Other(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("other", func, [kind.__name__ for kind in types])
        return NotImplemented


class Asked(torch.Tensor):
    """A tensor whose handler receives each function, including those of properties."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("function", getattr(func, "__name__", func))
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("asked", func)
        return torch.ones(2)


def attempt(function):
    try:
        print(function())
    except Exception:
        print(traceback.format_exc())


x = torch.tensor([1.0, 2.0], requires_grad=True)
with Told("outer"), Told("inner"):
    y = (x * 2 + 1).exp().sum()
    y.backward()
    torch.cat([x, x]).tolist()
    print(torch.tensor(3.0).item(), x.detach().add_(1, alpha=2), torch.nonzero(torch.tensor([0, 1])))
    with torch.no_grad():
        torch.zeros(2).normal_(generator=torch.Generator().manual_seed(0))
print(x.grad)
for mode in (Raises(), Wrong(), Refuses()):
    with mode:
        attempt(lambda: x + 1)
with Told("around"), Raises():
    attempt(lambda: torch.matmul(x, x))
with Told("around"):
    attempt(lambda: torch.ones(2) @ torch.ones(3))
held = Held(torch.ones(2))
print(held.shape, held.dim(), held.device, held.layout)
total = held + 1
print(type(total), type(total.sum()), total.numel(), (held * held).shape)
quiet = Quiet(torch.ones(2))
sum_of = quiet + held
print(type(sum_of), type(held + quiet), quiet.dim(), quiet.size())
del sum_of
other = torch.ones(2).as_subclass(Other)
attempt(lambda: other + 1)
attempt(lambda: other + held)
with Refuses():
    attempt(lambda: held * 2)
    attempt(lambda: torch.ones(1) * 2)
asked = Asked(torch.ones(2))
print(type(asked + 1), asked.shape)
needs = Quiet(torch.ones(2)).requires_grad_()
root = torch.exp(needs)
print(root.grad_fn, root.grad_fn.next_functions[0][0].variable is needs)
root.sum().backward()
print(type(needs.grad), needs.grad.held)
with torch._C._DisableTorchDispatch():
    print(type(torch.ones(2) * 2))
with Told("in inference"), torch.inference_mode():
    print(torch.ones(2) * 2)
with warnings.catch_warnings(), Told("checkpointed"):
    warnings.simplefilter("ignore")
    torch.utils.checkpoint.checkpoint(lambda a: a.sin().cos(), x, use_reentrant=False).sum().backward()
print(torch.vmap(lambda a: a * 2)(torch.ones(2, 2)))
with Told("vmapped"):
    print(
        torch.vmap(lambda a: (a * 2).sum())(torch.ones(2, 2)), torch.func.grad(lambda a: (a * a).sum())(torch.ones(2))
    )
