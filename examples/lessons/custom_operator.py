# # Where did the gradient of my operator go?
#
# `double` has a kernel for the CPU, and its numbers are right. It detaches `x`, as if NumPy computed
# the result. `z` is `x * 2 + x`, so `x.grad` should be 3. It is 1, and no error is raised. Where is
# the rest, and how could you have noticed that it is missing?

import torch

library = torch.library.Library("lesson", "DEF")
library.define("double(Tensor x) -> Tensor")
library.impl("double", lambda x: x.detach() * 2, "CPU")

x = torch.ones(3, requires_grad=True)
y = torch.ops.lesson.double(x)
z = y + x
z.sum().backward()

# ## Predict
#
# A kernel is registered for CPU, and none for Autograd. But `x` has AutogradCPU, as every ordinary
# CPU tensor has, so the call goes there first.
#
# predict: cell of double at AutogradCPU
# The cell is not empty, or the call would have raised. AutogradCPU has a fallback, as 12 of the 18
# autograd keys have. It was made for operators that have a kernel for a backend and nothing else.
#
# stop: Node WarnNotImplemented
# So `y` will require grad, and will have a `grad_fn`. If you check `y.requires_grad`, all seems
# well. Only the name of the Node shows that it is not.
#
# predict: redispatch double to CPU
# The call goes on with the same mask as from any autograd kernel. But no guard was entered, so
# calls inside the kernel go to autograd again. That is why this kernel calls `detach`.
#
# ## Run
#
# predict: event DependenciesCounted
# Two edges lead to `x`: from AddBackward0, and from WarnNotImplemented. The engine treats
# WarnNotImplemented like any other Node.
#
# ## Investigate
#
# stop: run WarnNotImplemented
# The Node has received its gradient, a full one. Here the derivative of `double` should be applied
# to it. There is none, so the Node keeps a warning for the end of the backward pass and returns no
# gradient.
#
# predict: last event DependencyMet
# An edge counts when its Node is done, with or without a gradient. Otherwise `x` would wait
# forever. So nothing stops, and AccumulateGrad runs with the gradients that arrived.
#
# stop: x.grad
# Here is the result: 1, from the `+ x` alone.
#
# stop: event Warned
# This is the only message that PyTorch gives. It also says what to do: register an autograd
# kernel.
#
# ## Modify
#
# stop: `library.impl`
# Remove `.detach()` from the kernel and run the file with `dispatchviz run`. `x.grad` is 3 now.
# What is the `grad_fn` of `y`, and which call recorded it? Why would a kernel written in C++, with
# a loop over the numbers, not do that?
#
# ## Make
#
# Give `double` its derivative with `torch.library.register_autograd`. Write the program, and find
# the cell that has your formula's kernel now. How many cells did that one registration change?


def facts():
    """Check the claims of the prose against PyTorch."""
    import warnings

    import torch

    library = torch.library.Library("lesson_facts", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.define("inner(Tensor x) -> Tensor")
    excluded = []

    def double(x):
        excluded.append(torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.AutogradCPU))
        return x.detach() * 2

    library.impl("double", double, "CPU")
    library.impl("inner", lambda x: x * 2, "CPU")
    operators = torch.ops.lesson_facts

    def cell(key):
        rows = torch._C._dispatch_dump_table("lesson_facts::double").splitlines()
        return next(row for row in rows if row.startswith(f"{key}:"))

    table = torch._C._dispatch_dump_table("lesson_facts::double").splitlines()
    filled = [row for row in table if row.startswith("Autograd")]
    assert len(filled) == 12, "of 18 autograd keys"
    assert all("[backend fallback]" in row for row in filled)

    def backward(operator):
        x = torch.ones(3, requires_grad=True)
        y = operator(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (y + x).sum().backward()
        return x, y, [str(each.message) for each in caught]

    x, y, caught = backward(operators.double)
    assert y.requires_grad, "all seems well"
    assert "WarnNotImplemented" in y.grad_fn.name()
    assert x.grad.tolist() == [1, 1, 1], "from + x alone"
    assert "an autograd kernel was not registered" in caught[0]
    assert "please ensure you have registered an autograd kernel" in caught[0]
    assert len(caught) == 1
    assert excluded == [False], "no guard"

    x, y, _ = backward(operators.inner)
    assert x.grad.tolist() == [3, 3, 3]
    assert type(y.grad_fn).__name__ == "MulBackward0", "made by the call within"

    torch.library.register_autograd("lesson_facts::double", lambda ctx, grad: grad * 2, lib=library)
    x, y, caught = backward(operators.double)
    assert x.grad.tolist() == [3, 3, 3]
    assert caught == []
    assert "[autograd kernel]" in cell("AutogradCPU")


def check(trace):
    """Check the way of the gradient to the Node where it ends."""
    from dispatchviz.core.record.events import GradientAccumulated, Warned

    double = "lesson::double"
    assert_subsequence(
        trace,
        [
            call(double, "AutogradCPU"),
            kernel("autograd_fallback", under="AutogradCPU"),
            node_created("torch::autograd::WarnNotImplemented"),
            redispatch(double, "CPU"),
            node_created("AddBackward0"),
            node_ran("AddBackward0"),
            node_ran("torch::autograd::WarnNotImplemented"),
            node_ran("torch::autograd::AccumulateGrad"),
            event(GradientAccumulated),
            event(Warned),
        ],
    )
