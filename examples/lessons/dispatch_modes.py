# # Which calls does a TorchDispatchMode see?
#
# A mode gets all calls of operators within a `with` block, as Python code. Tools that count FLOPs,
# log calls or simulate tensors are modes. To read their results you need to know where they listen:
# before or after autograd, and before or after operators such as `linear` are split up.

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Listening(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


x = torch.ones(2, 3)
w = torch.ones(4, 3, requires_grad=True)
with Listening() as mode:
    y = torch.nn.functional.linear(x, w)
    y.sum().backward()

# ## Predict
#
# The program calls `linear`. Its kernel calls `t`, to transpose `w`, and then `matmul`. Write down
# the operators that the mode will see in this line.
#
# stop: `y = torch.nn.functional.linear`
# ask: Which is the first operator that the mode sees?
# - aten.linear.default
#   `linear` is split up above the mode.
# - aten.matmul.default
#   `matmul` comes second, and it is composite, too.
# - aten.t.default
# answer: mode.seen[0] -> aten.t.default
# because: The mode listens below autograd, and `linear` is split up above that.
#
# The next steps show where that is.
#
# predict: call linear
# The thread includes two keys as long as a mode is on the stack. This is the higher one. Its kernel
# takes a snapshot of the thread's key sets, and redispatches. The mode does not listen here.
#
# ## Run
#
# stop: redispatch linear to AutogradCPU
# `linear` has no derivative of its own. So its composite kernel runs here, and calls `t` and
# `matmul` with all their keys.
#
# stop: Node TBackward0
# For `t`, autograd comes first. So the mode need not care about gradients: the Node exists before
# the mode gets the call.
#
# predict: redispatch t to Python
# This is the other key that the thread includes. It is below autograd and above the CPU.
#
# stop: second event TorchDispatchEntered
# `matmul` is split up as well, so the mode sees `mm`. It calls `func`, which does not come back to
# the mode: a mode is off while its own code runs. Otherwise this would never end.
#
# ## Investigate
#
# stop: event BackwardStarted
# ask: The block is still open. Does the mode see the calls of the formulas in `backward`?
# - yes
# - no
#   The formulas call operators, and the thread still includes the keys of the mode.
# answer: "aten.mm.default" in mode.seen[3:] -> yes
# because: A formula makes ordinary calls, with the keys of the thread.
#
# Here the list has `mm` twice: once from `linear`, and once from the formula of MmBackward0.
#
# stop: last event TorchDispatchEntered
# Even AccumulateGrad calls an operator: `detach`, before the gradient becomes `w.grad`.
#
# ## Modify
#
# Go to the line of `linear` and press `W`: run it under `inference_mode`. `backward` raises then.
# What does the mode see in this line now? Which key is missing, so that `linear` is not split up?
#
# ## Make
#
# Write a mode `Counting` with a dict `counts`: the number of calls for each `str(func)`. Under
# `with Counting() as mode:`, call `torch.nn.Linear(3, 4)` on `torch.ones(2, 3)`, and call
# `backward` on the sum of the result. Guess the counts of `aten.addmm.default` and
# `aten.mm.default` first. `Linear` has a bias.
#
# goal: mode.counts["aten.addmm.default"] == 1
# goal: mode.counts["aten.mm.default"] == 1
# hint: Which gradients does the Node of the layer have to compute? The input does not require grad.
# hint: `addmm` multiplies and adds the bias in one call. Its formula calls `mm` for the gradient of
#   the weight.
# hint: In `__torch_dispatch__`: `self.counts[str(func)] = self.counts.get(str(func), 0) + 1`.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_what_it_sees()
    facts_of_keys()
    facts_of_a_count()


def facts_listening():
    """Return the class of a mode that keeps the names of operators."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Listening(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Listening


def facts_of_what_it_sees():
    """Check the operators that a mode sees, in both passes and in inference mode."""
    import torch

    x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    with facts_listening()() as mode:
        y = torch.nn.functional.linear(x, w)
        assert mode.seen == ["aten.t.default", "aten.mm.default"]
        assert y.grad_fn.name() == "MmBackward0"
        y.sum().backward()
    assert mode.seen.count("aten.mm.default") == 2
    assert mode.seen[-1] == "aten.detach.default"
    with facts_listening()() as mode, torch.inference_mode():
        torch.nn.functional.linear(x, w)
    assert mode.seen == ["aten.linear.default"]


def facts_of_keys():
    """Check the keys that a mode includes, and that autograd is done before it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    key, seen = torch._C.DispatchKey, []

    class Keys(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            included = torch._C._dispatch_tls_local_include_set()
            excluded = torch._C._dispatch_tls_local_exclude_set()
            seen.append((included.has(key.Python), excluded.has(key.AutogradFunctionality)))
            result = func(*args, **(kwargs or {}))
            seen.append(result.grad_fn)
            return result

    with Keys():
        included = torch._C._dispatch_tls_local_include_set()
        assert included.has(key.Python)
        assert included.has(key.PythonTLSSnapshot)
        y = torch.ones(2, requires_grad=True) * 2
    assert seen[-2:] == [(False, True), None]
    assert y.grad_fn is not None, "set by the kernel above"
    assert key.PythonTLSSnapshot.value > key.AutogradOther.value > key.Python.value > key.Dense.value


def facts_of_a_count():
    """Check a solution of the last task."""
    import torch

    layer = torch.nn.Linear(3, 4)
    with facts_listening()() as mode:
        layer(torch.ones(2, 3)).sum().backward()
    assert mode.seen.count("aten.addmm.default") == 1
    assert mode.seen.count("aten.mm.default") == 1, "the input requires no gradient"


def check(trace):
    """Check which calls come to the mode."""
    from dispatchviz.core.record import events as ev

    def seen(name):
        return event(ev.TorchDispatchEntered, kind="mode", function=f"aten.{name}.default")

    assert_subsequence(
        trace,
        [
            call("aten::linear", "PythonTLSSnapshot"),
            redispatch("aten::t", "Python"),
            seen("t"),
            seen("mm"),
            event(ev.BackwardStarted),
            seen("mm"),
            seen("detach"),
        ],
    )
    assert_never(trace, seen("linear"))
    assert_count(trace, seen("mm"), 2)
    assert_count(trace, node_created("TBackward0"), 1)
