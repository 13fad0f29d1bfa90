"""Hooks while the engine runs them: what they find in their dictionaries, how their errors look, who called them; and
``retain_grad`` by all its ways."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import traceback
import weakref
from collections import OrderedDict

import torch
from torch.utils.hooks import RemovableHandle

told = []
x = torch.ones(2, requires_grad=True)
y = x * 2


def named(gradient):
    return None


class Callable:
    __name__ = "its own name"

    def __init__(self, hook):
        self.hook, self.kept = hook, "what a hook keeps"

    def __call__(self, *args):
        return self.hook(*args)


def looks(gradient):
    hooks = y._backward_hooks
    told.append((type(hooks), len(hooks), [key - first.id for key in hooks], hooks is first.hooks_dict_ref()))
    told.append([getattr(hook, "__name__", None) for hook in hooks.values()])
    told.append((hooks[first.id] == named, named in hooks.values(), repr(hooks[first.id]) == repr(named)))
    told.append((hash(hooks[first.id]) == hash(named), pickle.loads(pickle.dumps(hooks[first.id])) is named))
    told.append((copy.copy(hooks[first.id]) is named, copy.deepcopy(hooks[first.id]) is named))
    told.append((hooks[last.id].kept, hooks[first.id].__code__ is named.__code__))
    told.append([entry.name for entry in traceback.extract_stack()][-2:])


first = y.register_hook(named)
y.register_hook(looks)
last = y.register_hook(Callable(lambda gradient: gradient * 2))
before = dict(y._backward_hooks)
y.sum().backward(retain_graph=True)
print(*told, sep="\n")
print(dict(y._backward_hooks) == before, [type(hook).__name__ for hook in y._backward_hooks.values()], x.grad)
told.clear()


def comes_and_goes(gradient):
    first.remove()
    told.append(len(y._backward_hooks))
    here = y.register_hook(lambda gradient: told.append("too late for this one"))
    told.append(here.id - first.id)
    x.register_hook(lambda gradient: told.append("in time"))
    with y.grad_fn.register_prehook(lambda gradients: told.append("gone again")):
        pass


y = x * 2
first = y.register_hook(comes_and_goes)
y.grad_fn.register_hook(lambda *gradients: told.append("behind"))
y.sum().backward(retain_graph=True)
y.sum().backward()
print(told, len(y._backward_hooks), RemovableHandle.next_id - first.id)
told.clear()

# -- errors -----------------------------------------------------------------------------------------------------------


def attempt(register, retain=False):
    leaf = torch.ones(2, requires_grad=True)
    z = leaf * 2
    register(leaf, z)
    try:
        z.exp().sum().backward()
    except Exception:
        traceback.print_exc()
        print([frame.name for frame in traceback.extract_tb(sys.exc_info()[2])][-1], leaf.grad)


def fails(*gradients):
    raise LookupError(len(gradients))


attempt(lambda leaf, z: z.grad_fn.register_prehook(fails))
attempt(lambda leaf, z: z.grad_fn.register_hook(fails))
attempt(lambda leaf, z: leaf.register_post_accumulate_grad_hook(fails))
attempt(lambda leaf, z: z.grad_fn.register_prehook(lambda gradients: gradients[0]))
attempt(lambda leaf, z: z.grad_fn.register_prehook(Callable(lambda gradients: ())))
attempt(lambda leaf, z: z.register_hook(Callable(lambda gradient: gradient[0])))
attempt(lambda leaf, z: z.register_hook(lambda gradient: gradient.double()))
attempt(lambda leaf, z: leaf.register_post_accumulate_grad_hook(lambda leaf: leaf + 1))
attempt(lambda leaf, z: z.register_hook(3))
attempt(lambda leaf, z: z.register_hook(lambda: None))

# -- who holds what ---------------------------------------------------------------------------------------------------


def stolen(hook_of):
    leaf = torch.ones(2, requires_grad=True)
    z = leaf * torch.full((2,), 3.0)
    addresses, gone = [], []

    def remembers(gradient):
        gradient = gradient[0] if isinstance(gradient, tuple) else gradient
        addresses.append(gradient.data_ptr())
        gone.append(weakref.ref(gradient))

    hook_of(leaf, z)(remembers)
    z.sum().backward()
    gc.collect()
    return leaf.grad.data_ptr() in addresses, [one() is None for one in gone]


print(stolen(lambda leaf, z: leaf.register_hook))
print(stolen(lambda leaf, z: z.grad_fn.next_functions[0][0].register_prehook))
print(stolen(lambda leaf, z: z.register_hook))
w = torch.ones(2, requires_grad=True)
held = weakref.ref((lambda hook: (w.register_hook(hook), hook)[1])(lambda gradient: None))
w.sum().backward()
w._backward_hooks.clear()
print(held() is None)
made = w * 1
node = made.grad_fn
kept = weakref.ref(node.register_prehook(named).hooks_dict_ref())
made.sum().backward()
del made, node
gc.collect()
print(kept() is None)

# -- several backwards at once ----------------------------------------------------------------------------------------

shared = torch.ones(2, requires_grad=True)
inside = threading.Barrier(2, timeout=60)
shared.register_hook(lambda gradient: told.append(inside.wait() >= 0))


def goes_back():
    (shared * 2).sum().backward()


threads = [threading.Thread(target=goes_back) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(told, shared.grad, shared._backward_hooks[next(iter(shared._backward_hooks))].__name__)
told.clear()

inner = (x * 3).sum()
x.register_post_accumulate_grad_hook(lambda leaf: told.append(leaf.grad.tolist()))
y = x * 2
y.register_hook(lambda gradient: inner.backward(retain_graph=True))
y.sum().backward()
print(told)
told.clear()

# -- retain_grad ------------------------------------------------------------------------------------------------------


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        told.append(repr(func))
        return super().__torch_function__(func, types, args, kwargs)


z = x * 2
print(torch.Tensor.retain_grad, z.retain_grad.__name__, z.retain_grad.__doc__ == torch.Tensor.retain_grad.__doc__)
print(z.retain_grad(), z.retains_grad, torch.Tensor.retain_grad(z), x.retain_grad(), x.retains_grad)
subclassed = (x * 2).as_subclass(Named)
told.clear()
subclassed.retain_grad()
print(told, inspect.isroutine(z.retain_grad), callable(z.retain_grad), "retain_grad" in dir(torch.Tensor))
(z * 3).sum().backward(inputs=[z, z])
print(z.grad)
for wrong in (lambda: torch.ones(2).retain_grad(), lambda: z.retain_grad(3), lambda: torch.Tensor.retain_grad()):
    try:
        wrong()
    except (RuntimeError, TypeError):
        traceback.print_exc()
print("_register_hook" in vars(torch.autograd.Function), isinstance(y._backward_hooks, OrderedDict))
