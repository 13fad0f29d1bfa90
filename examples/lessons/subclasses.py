# # How does a tensor without numbers compute?
#
# A quantized weight, a tensor that is spread over GPUs, a tensor that only knows its shape: all of
# them are used like tensors, and keep their numbers elsewhere. Each is a subclass with a method
# `__torch_dispatch__`. Autograd works for them, and the class needs no code for it. Why?

import torch
from torch.utils._pytree import tree_map_only


class Holding(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), dtype=held.dtype, device=held.device, requires_grad=held.requires_grad
        )

    def __init__(self, held):
        self.held = held.detach()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        held = tree_map_only(cls, lambda tensor: tensor.held, args)
        result = func(*held, **(kwargs or {}))
        return tree_map_only(torch.Tensor, cls, result)


x = Holding(torch.tensor([1.0, 2.0], requires_grad=True))
y = x * x
y.sum().backward()

# ## Predict
#
# `x` claims to be a tensor of two float32 numbers on the CPU. Its numbers are in `x.held`, another
# tensor. Which keys does it need, so that Python code runs in place of the kernel for CPU?
#
# stop: event KeySetChanged
# The class has a `__torch_dispatch__`, so the new tensor gets two keys: Python and
# PythonTLSSnapshot. It also has CPU and AutogradCPU, because of the device that it claims.
#
# predict: call mul
# This key is above autograd. Its kernel takes a snapshot of the thread's key sets, and
# redispatches.
#
# stop: Node MulBackward0
# AutogradCPU comes next. Its kernel sees a tensor that requires grad, and does not ask where the
# numbers are. So it records a Node, as for any tensor.
#
# predict: redispatch mul to Python
# Below autograd, Python is above CPU. So the kernel for CPU is not called with `x`, which has no
# memory.
#
# ## Run
#
# stop: event TorchDispatchEntered
# Your method gets the operator and the arguments. It replaces each `Holding` by the tensor that it
# holds, and calls the operator again. That tensor is an ordinary one, so its call goes to the CPU.
#
# stop: event HistorySet in `y = x * x`
# ask: The method has wrapped the result, and `y` gets a `grad_fn`. Does the tensor inside,
# `y.held`, have one?
# answer: y.held.grad_fn is not None -> no
# because: The calls of the method are below autograd, so they are not recorded.
#
# There is one graph, and it consists of the outer tensors.
#
# ## Investigate
#
# stop: x.grad
# ask: Of which class is `x.grad`?
# - Tensor
#   The calls of the formulas also pass `__torch_dispatch__`, which wraps their results.
# - Holding
# answer: "Holding" if isinstance(x.grad, Holding) else "Tensor" -> Holding
# because: Formulas call operators on the gradients, and these are of the class, too.
#
# stop: third event TorchDispatchEntered
# The first gradient comes from `ones_like(y.sum())`. It is a call with a `Holding`, so the class
# gets it. From there on, each call of backward has one among its arguments.
#
# ## Modify
#
# In a copy of the program, let the method return `result` without the last `tree_map_only`. Guess
# first: of which class is `y`? Does it have a `grad_fn`?
#
# ## Make
#
# Write a subclass `Half`, which claims float32 and keeps `held` in float16. Its method computes
# with `held.float()`. Let `x` be a `Half` that holds 1 and 2 and requires grad. Let `y` be `x * 3`,
# and call `backward` on its sum.
#
# goal: y.dtype == torch.float32
# goal: y.held.dtype == torch.float16
# goal: x.grad.held.tolist() == [3, 3]
# hint: Two places of `Holding` read or write `held`. Which dtype belongs to each of them?
# hint: `__init__` converts to float16, and `__torch_dispatch__` converts to float32 before it calls
#   `func`.
# hint: `self.held = held.detach().half()`, and `lambda tensor: tensor.held.float()`. `__new__`
#   still gets the float32 tensor.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_a_wrapper()
    facts_of_unwrapped_results()
    facts_of_halves()


def facts_holding(wraps=True, dtype=None):
    """Return a class of wrappers, and the list of the operators that it gets."""
    import torch
    from torch.utils._pytree import tree_map_only

    seen = []

    class Holding(torch.Tensor):
        @staticmethod
        def __new__(cls, held):
            return torch.Tensor._make_wrapper_subclass(
                cls, held.size(), dtype=held.dtype, device=held.device, requires_grad=held.requires_grad
            )

        def __init__(self, held):
            self.held = held.detach() if dtype is None else held.detach().to(dtype)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            held = tree_map_only(cls, lambda tensor: tensor.held.float(), args)
            result = func(*held, **(kwargs or {}))
            return tree_map_only(torch.Tensor, cls, result) if wraps else result

    return Holding, seen


def facts_of_a_wrapper():
    """Check the keys of a wrapper, and the calls that its class gets."""
    import torch

    Holding, seen = facts_holding()
    x = Holding(torch.tensor([1.0, 2.0], requires_grad=True))
    key, keys = torch._C.DispatchKey, torch._C._dispatch_keys(x)
    assert all(keys.has(each) for each in (key.Python, key.PythonTLSSnapshot, key.CPU, key.AutogradCPU))
    assert not torch._C._dispatch_keys(x.held).has(key.Python)
    y = x * 3
    assert seen == ["aten.mul.Tensor"], "the call with the held tensor does not come back"
    assert isinstance(y, Holding)
    assert y.grad_fn.name() == "MulBackward0"
    assert y.held.grad_fn is None
    y.sum().backward()
    assert isinstance(x.grad, Holding)
    assert x.grad.held.tolist() == [3, 3]
    assert seen[1:3] == ["aten.sum.default", "aten.ones_like.default"]


def facts_of_unwrapped_results():
    """Check a method that returns ordinary tensors."""
    import torch

    Holding, _ = facts_holding(wraps=False)
    y = Holding(torch.tensor([1.0, 2.0], requires_grad=True)) * 3
    assert type(y) is torch.Tensor
    assert y.grad_fn.name() == "MulBackward0", "autograd's kernel gets it from the method"


def facts_of_halves():
    """Check a solution of the last task."""
    import torch

    Half, _ = facts_holding(dtype=torch.float16)
    x = Half(torch.tensor([1.0, 2.0], requires_grad=True))
    y = x * 3
    y.sum().backward()
    assert (y.dtype, y.held.dtype) == (torch.float32, torch.float16)
    assert x.grad.held.tolist() == [3, 3]


def check(trace):
    """Check the way of a call with a wrapper, and that backward passes the class, too."""
    from dispatchviz.core.record import events as ev

    mul = "aten::mul.Tensor"
    assert_subsequence(
        trace,
        [
            call(mul, "PythonTLSSnapshot"),
            node_created("MulBackward0"),
            redispatch(mul, "Python"),
            event(ev.TorchDispatchEntered, kind="subclass", handler="Holding", function="aten.mul.Tensor"),
            call(mul, "CPU"),
            event(ev.BackwardStarted),
            event(ev.TorchDispatchEntered, kind="subclass", function="aten.mul.Tensor"),
        ],
    )
