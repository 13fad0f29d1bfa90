"""Hooks of tensors: their handles, their dictionaries, their errors, and what makes no Node."""

import copy
import inspect
import pickle
import traceback
import warnings

import torch
from torch.utils.hooks import RemovableHandle

told = []


def telling(name):
    return lambda gradient: told.append((name, gradient.tolist()))


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        told.append(getattr(func, "__name__", "?"))
        return super().__torch_function__(func, types, args, kwargs)


class Kept(RemovableHandle):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        told.append(("kept", self.id))

    def remove(self):
        told.append(("removes", self.id))
        super().remove()


class Restless:
    """An object that would report if its name were read."""

    def __getattr__(self, name):
        told.append(("asked for", name))
        raise AttributeError(name)

    def __call__(self, gradient):
        told.append("restless")


x = torch.ones(2, requires_grad=True)
y = x * 2
first = y.register_hook(telling("of y"))
handles = [y.register_hook(lambda gradient: gradient * 10), y.register_hook(Restless())]
handles.append(x.register_post_accumulate_grad_hook(telling("x has it")))
handles.append(x.register_hook(telling("of x")))
print(
    [handle.id - first.id for handle in handles],
    list(y._backward_hooks) == [first.id, *range(first.id + 1, first.id + 3)],
)
print(x._backward_hooks, x._post_accumulate_grad_hooks, sorted(vars(first)))
y.sum().backward(retain_graph=True)
with y.register_hook(telling("for a while")) as while_open:
    y.sum().backward(retain_graph=True)
first.remove()
first.remove()
y.sum().backward(retain_graph=True)
print(told, x.grad)
told.clear()

y.mul_(3)
again = y.register_hook(telling("of y after it was written to"))
y.sum().backward()
print(told, y._backward_hooks, again.id - first.id)
told.clear()

view = (x * 1)[:1]
view.register_hook(telling("of a view"))
view._base.mul_(3)
before = torch._C._autograd._get_sequence_nr()
view.register_hook(telling("of a stale view"))
print(torch._C._autograd._get_sequence_nr() - before, len(view._backward_hooks))
view.sum().backward()
print(told)
told.clear()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    leaf = torch.ones(2, requires_grad=True)
    leaf.register_hook(len)
    pickle.dumps(leaf)
    print([str(one.message) for one in caught])
kept = pickle.loads(pickle.dumps(leaf.register_hook(len)))
kept.remove()
print(kept.id - first.id, len(copy.deepcopy(leaf)._backward_hooks or ()), RemovableHandle.next_id - first.id)

module = torch.nn.Linear(2, 2)
module.register_forward_hook(lambda *args: told.append("forward")).remove()
module.register_full_backward_hook(lambda *args: told.append("full backward"))
module(torch.ones(1, 2, requires_grad=True)).sum().backward()
named = torch.ones(2, requires_grad=True).as_subclass(Named)
named.register_hook(telling("of a subclass"))
Kept(leaf._backward_hooks).remove()
print(told)

for wrong in (
    lambda: torch.ones(2).register_hook(len),
    lambda: y.register_post_accumulate_grad_hook(len),
    lambda: RemovableHandle(3),
    lambda: RemovableHandle(),
    lambda: RemovableHandle.remove(3),
):
    try:
        wrong()
    except Exception:
        traceback.print_exc()


def fails(gradient):
    raise LookupError(gradient)


z = x * 2
z.register_hook(fails)
try:
    z.sum().backward()
except LookupError:
    traceback.print_exc()
z = x * 2
z.register_hook(lambda gradient: 3)
try:
    z.sum().backward()
except TypeError:
    traceback.print_exc()
print(inspect.getsource(torch.Tensor.register_hook)[:30], inspect.signature(RemovableHandle), repr(RemovableHandle))
