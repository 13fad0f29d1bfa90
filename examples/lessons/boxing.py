# # One kernel for all operators: what are its arguments?
#
# `torch.vmap` runs a function for each row of `x`. Two kernels on its way, written once, serve
# nearly every operator, even one that you define below. But a C++ function has fixed types,
# and operators differ in theirs. So how are such kernels called, and what does vmap do for an
# operator that it has never heard of?

import torch

library = torch.library.Library("lesson", "DEF")
library.define("negative(Tensor x) -> Tensor")
library.impl("negative", lambda x: -x, "CPU")

x = torch.ones(2, 3)
s = torch.vmap(torch.sin)(x)
z = torch.vmap(torch.ops.lesson.negative)(x)

# ## Predict
#
# Inside vmap the function sees a tensor of three numbers; the row's dimension is hidden in it.
# Such a tensor has a key more, FuncTorchBatched, and the thread includes two:
# FuncTorchDynamicLayerFrontMode above all keys of this call, FuncTorchDynamicLayerBackMode below
# those of autograd and above the backends'. (Four keys are higher than Front: none of them is here.)
#
# predict: call sin at FuncTorchDynamicLayerFrontMode
# Front comes before autograd, before everything that is in the set. It is a fallback: the same
# function, `dynamicLayerFrontFallback`, for `sin` and for all operators but twelve.
#
# stop: event Boxed in `s =`
# This is how one function takes everything. The values go onto a stack of IValues, one type for
# tensors, numbers and lists. The kernel gets the operator and the stack: it is boxed.
#
# predict: cell of sin at FuncTorchBatched
# This one is of `sin` alone: a batch rule knows how to do all rows at once.
#
# ## Run
#
# stop: event Unboxed in `s =`
# A batch rule is a C++ function with the types of `sin`. The dispatcher takes its arguments off
# the stack. Kernels that are unboxed and kernels that are boxed can call each other: it converts
# between them.
#
# stop: kernel wrapper_CPU_sin
# One call for all rows, of shape [2, 3]. Between the batch rule and this call lies Back, which
# takes vmap's layer off and begins a call as if there were no vmap; so autograd comes below it.
#
# ## Investigate
#
# Now the operator of our own. It has a kernel for CPU alone. Which of the two cells that you saw
# will be the same, which cannot be?
#
# predict: cell of negative at FuncTorchBatched
# Nobody wrote a batch rule, so the key's fallback is taken, boxed like Front. Nothing was boxed on
# the way: `torch.ops` puts the arguments onto a stack to begin with. The fallback knows nothing of
# the operator but its schema, and walks the stack: where it finds a batched tensor, it takes a row
# of it.
#
# stop: second call negative at AutogradCPU
# This is the call for the second row, with `callBoxed`: the fallback cannot name the types, and
# need not. A thousand rows are a thousand calls. That is the price; what it spares is a batch rule
# for each operator. In the end the results are stacked.
#
# ## Modify
#
# Register the same function a second time, under "FuncTorchBatchedDecomposition", and run the file
# with `dispatchviz run`. How often is the lambda called now, and which key do its own calls meet?
#
# ## Make
#
# Define an operator of two tensors, and `vmap` it over the first alone, with `in_dims=(0, None)`.
# What does the loop fallback do with the second tensor?


def facts():
    """What the prose says of PyTorch."""
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
    assert len(own) == 12, "these have a kernel of their own there"
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
    """Boxed, unboxed; a batch rule, then the loop."""
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
