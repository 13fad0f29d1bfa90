# # How can one kernel serve all operators?
#
# `torch.vmap` runs a function for each row of `x`. On the way, the call meets two kernels that
# were written once and serve nearly every operator, even one that you define below. But a C++
# function has fixed argument types, and operators have different arguments. So how can these
# kernels be called? And how does vmap handle an operator that it does not know?

import torch

library = torch.library.Library("lesson", "DEF")
library.define("negative(Tensor x) -> Tensor")
library.impl("negative", lambda x: -x, "CPU")

x = torch.ones(2, 3)
s = torch.vmap(torch.sin)(x)
z = torch.vmap(torch.ops.lesson.negative)(x)

# ## Predict
#
# Inside vmap the function sees a tensor of three numbers; the dimension of the rows is hidden in
# it. This tensor has one more key, FuncTorchBatched. The thread-local include set has two more:
# FuncTorchDynamicLayerFrontMode is above all keys of this call, and FuncTorchDynamicLayerBackMode
# is below the autograd keys and above the backends. (Four keys are higher than Front, but none of
# them is present here.)
#
# predict: call sin at FuncTorchDynamicLayerFrontMode
# Front comes first, before autograd and every other key in the set. Its kernel is a fallback: the
# same function, `dynamicLayerFrontFallback`, serves `sin` and all other operators except thirteen.
#
# stop: event Boxed in `s =`
# This is how one function takes any arguments. The values are pushed onto a stack of IValues, a
# single type for tensors, numbers and lists. The kernel gets the operator and the stack. A
# kernel of this kind is called boxed.
#
# predict: cell of sin at FuncTorchBatched
# This kernel belongs to `sin` alone. It is a batch rule, which computes all rows at once.
#
# ## Run
#
# stop: event Unboxed in `s =`
# A batch rule is a C++ function with the types of `sin`. The dispatcher pops its arguments from
# the stack. Boxed and unboxed kernels can call each other, because the dispatcher converts between
# them.
#
# stop: kernel wrapper_CPU_sin
# This one call computes all rows, with the shape [2, 3]. Between the batch rule and this call,
# Back removes vmap's layer and starts a call as if there were no vmap. So autograd runs below
# vmap.
#
# ## Investigate
#
# Now look at the operator that the program defines. It has a kernel for CPU alone. Of the two
# cells that you saw, one will have the same kernel and one cannot. Which is which?
#
# predict: cell of negative at FuncTorchBatched
# There is no batch rule for this operator, so the key's fallback is used. It is boxed, as Front
# is. No boxing was needed on the way, because `torch.ops` pushes the arguments onto a stack from
# the start. The fallback knows only the operator's schema. It goes through the stack and replaces
# each batched tensor by one row of it.
#
# stop: second call negative at AutogradCPU
# This is the call for the second row, by `callBoxed`: the fallback does not need to know the
# types. A thousand rows take a thousand calls. That is the price for not writing a batch rule for
# each operator. At the end the results are stacked.
#
# ## Modify
#
# Register the same function a second time, for "FuncTorchBatchedDecomposition", and run the file
# with `dispatchviz run`. How often is the lambda called now, and which key do its own calls go to?
#
# ## Make
#
# Define an operator of two tensors, and `vmap` it over the first tensor only, with `in_dims=(0,
# None)`. What does the loop fallback do with the second tensor?


def facts():
    """Check the claims of the prose against PyTorch."""
    import warnings

    import torch

    warnings.filterwarnings("ignore", "There is a performance drop")
    library = torch.library.Library("lesson_facts", "DEF")
    shapes = []

    def negative(x):
        shapes.append(tuple(x.shape))
        return -x

    library.define("negative(Tensor x) -> Tensor")
    library.impl("negative", negative, "CPU")
    library.define("both(Tensor x, Tensor y) -> Tensor")
    library.impl("both", lambda x, y: shapes.append((tuple(x.shape), tuple(y.shape))) or x + y, "CPU")

    def cell(operator, key):
        rows = torch._C._dispatch_dump_table(operator).splitlines()
        return next(row for row in rows if row.startswith(f"{key}:"))

    front, back = "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"
    for operator in ("aten::sin", "lesson_facts::negative"):
        assert "[backend fallback]" in cell(operator, front)
        assert "[backend fallback]" in cell(operator, back)
    own = torch._C._dispatch_get_registrations_for_dispatch_key(front)
    assert len(own) == 13, "these have a kernel of their own there"
    assert "[kernel]" in cell("aten::sin", "FuncTorchBatched"), "a batch rule"
    assert "BatchRules" in cell("aten::sin", "FuncTorchBatched")
    assert "[backend fallback]" in cell("lesson_facts::negative", "FuncTorchBatched")

    def seen(x):
        keys = torch._C._dispatch_keys(x)
        included = torch._C._dispatch_tls_local_include_set()
        names = torch._C.DispatchKey
        assert x.shape == (3,)
        assert keys.has(names.FuncTorchBatched)
        assert included.has(names.FuncTorchDynamicLayerFrontMode)
        assert included.has(names.FuncTorchDynamicLayerBackMode)
        union = keys | included
        assert union.highestPriorityTypeId() == names.FuncTorchDynamicLayerFrontMode, "above all keys of the call"
        assert names.PythonDispatcher.value - names.FuncTorchDynamicLayerFrontMode.value == 4, "four are higher"
        assert names.AutogradOther.value > names.FuncTorchDynamicLayerBackMode.value > names.BackendSelect.value
        return torch.ops.lesson_facts.negative(x)

    x = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        assert torch.vmap(seen)(x).tolist() == [[-1] * 3] * 2
    assert shapes == [(3,), (3,)], "a call for each row"
    assert type(torch.vmap(torch.sin)(x).grad_fn).__name__ == "SinBackward0", "autograd comes below, for all rows"
    del shapes[:]
    torch.vmap(torch.ops.lesson_facts.both, in_dims=(0, None))(torch.ones(2, 3), torch.ones(2, 3))
    assert shapes == [((3,), (2, 3)), ((3,), (2, 3))], "whole for each row"
    del shapes[:]
    library.impl("negative", negative, "FuncTorchBatchedDecomposition")
    torch.vmap(torch.ops.lesson_facts.negative)(torch.ones(2, 3))
    assert shapes == [(3,)], "once, and what it calls has batch rules"


def check(trace):
    """Check the boxed and unboxed calls: a batch rule, then the loop."""
    front, back = "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"
    sin, negative = "aten::sin", "lesson::negative"
    assert_subsequence(
        trace,
        [
            call(sin, front),
            call(sin, "FuncTorchBatched"),
            call(sin, back),
            call(sin, "AutogradCPU"),
            redispatch(sin, "CPU"),
            call(negative, front),
            kernel("batchedTensorForLoopFallback", under="FuncTorchBatched"),
            call("aten::stack", "AutogradCPU"),
        ],
    )
    assert_count(trace, kernel("wrapper_CPU_sin"), 1)
    assert_count(trace, call(negative, "AutogradCPU"), 2)
