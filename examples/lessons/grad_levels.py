# # Why does torch.func.grad count levels?
#
# `torch.func.grad(square)` is a new function, which computes the derivative of `square`. It needs
# no `requires_grad`, and it writes no `.grad`. You can apply it to its own result. Then two
# derivatives are computed at once, and they must not be mixed up. How does PyTorch keep them apart?

import torch


def square(t):
    return t * t


x = torch.tensor(3.0)
first = torch.func.grad(square)(x)
second = torch.func.grad(torch.func.grad(square))(x)

# ## Predict
#
# On paper: what are `first` and `second`? `x` does not require grad. So what does autograd record?
#
# stop: `return t * t`
# ask: Does `t` require grad within `square`?
# - no: it is `x`, which does not require grad
#   It has the numbers of `x`, but it is another tensor.
# - yes: it is not `x` itself
# answer: t.requires_grad -> yes
# because: `grad` has wrapped `x`. The wrapper has level 1, and it requires grad. `x` stays as it
# was.
#
# predict: call mul
# The wrapper has a key of its own, and the thread includes Front and Back, one above and one below
# autograd. The lesson `boxing` shows these keys for `vmap`.
#
# stop: Node MulBackward0
# Autograd runs for the wrapper, because it requires grad. This Node belongs to level 1.
#
# ## Run
#
# stop: event DynamicLayerPopped
# Back now removes level 1, for the time of this call, and unwraps the tensors. Then `mul` is called
# again, with `x` itself.
#
# stop: event NoNodeMade in `return t * t`
# ask: Autograd's kernel runs a second time for the same `t * t`. Does it record a second Node?
# answer: count("Node MulBackward0") > 1 -> no
# because: Outside of level 1 there is only `x`, which does not require grad.
#
# Then the CPU computes the product. Back wraps it, and pushes level 1 again.
#
# ## Investigate
#
# stop: second `return t * t`
# ask: `grad` of `grad`: how many Nodes will this one `t * t` get?
# - 1: a product has one Node
#   One at each level that wraps its arguments.
# - 2: one for each level
# - 4: one for each level and argument
#   A Node has an edge for each argument.
# answer: count("Node MulBackward0 in `return t * t`") - 1 -> 2
# because: `t` is a wrapper of level 2 around a wrapper of level 1 around `x`. Each level records
# the calls for its own derivative.
#
# The inner `grad` works at level 2. Its backward calls `mul` and `add`, and level 1 records these
# calls as well: they are the program that the outer `grad` differentiates.
#
# stop: last event DynamicLayerPopped
# ask: Both derivatives are computed. What is `x.grad`?
# - None
# - 6
#   `first` is 6. It is a result, and nothing is written to `x`.
# answer: x.grad -> None
# because: `x` itself never required grad. The wrappers did, and they are gone.
#
# The results are returned: `first` is 6, and `second` is 2.
#
# ## Modify
#
# Go to the line of `first` and press `W`: switch `requires_grad` of `x` on. Does `first` have a
# `grad_fn` now? How many Nodes does the one `t * t` get, and at which levels?
#
# ## Make
#
# Write `outer(x)`, which returns `x * torch.func.grad(lambda y: x + y)(torch.tensor(2.0))`, and
# call `slope = torch.func.grad(outer)(torch.tensor(3.0))`. Compute `slope` on paper first. It would
# be 2 if the inner `grad` took the `x` of the outer one for its own variable.
#
# goal: slope.item() == 1
# hint: Which variable does the inner `grad` differentiate by? What is `x` for it?
# hint: The derivative of `x + y` by `y` is 1, whatever `x` is. So what does `outer` return?
# hint: `outer(x)` is `x * 1`. Write the two lines as they are in the task.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_wrappers()
    facts_of_two_levels()
    facts_of_nested_functions()


def facts_of_wrappers():
    """Check that the argument is a wrapper that requires grad, and that nothing is written to the input."""
    import torch

    functorch = torch._C._functorch
    seen = []

    def square(t):
        seen.append((t.requires_grad, t is x, functorch.maybe_get_level(t), functorch.get_unwrapped(t) is x))
        result = t * t
        seen.append(result.grad_fn.name())
        keys = torch._C._dispatch_tls_local_include_set()
        seen.append(keys.has(torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode))
        seen.append(keys.has(torch._C.DispatchKey.FuncTorchDynamicLayerBackMode))
        return result

    x = torch.tensor(3.0)
    first = torch.func.grad(square)(x)
    assert first.item() == 6
    assert seen == [(True, False, 1, True), "MulBackward0", True, True]
    assert not x.requires_grad
    assert x.grad is None
    assert first.grad_fn is None
    x.requires_grad_()
    assert torch.func.grad(lambda t: t * t)(x).grad_fn is not None, "recorded at level 0, too"


def facts_of_two_levels():
    """Check the levels of nested transforms."""
    import torch

    functorch = torch._C._functorch
    levels = []

    def square(t):
        levels.append(functorch.maybe_get_level(t))
        levels.append(functorch.maybe_get_level(functorch.get_unwrapped(t)))
        levels.append(functorch.get_unwrapped(t).requires_grad)
        return t * t

    assert torch.func.grad(torch.func.grad(square))(torch.tensor(3.0)).item() == 2
    assert levels == [2, 1, True]


def facts_of_nested_functions():
    """Check a solution of the last task."""
    import torch

    def outer(x):
        return x * torch.func.grad(lambda y: x + y)(torch.tensor(2.0))

    assert torch.func.grad(outer)(torch.tensor(3.0)).item() == 1


def check(trace):
    """Check the levels, and the Nodes of the product at each of them."""
    from dispatchviz.core.record import events as ev

    front, mul = "FuncTorchDynamicLayerFrontMode", "aten::mul.Tensor"
    assert_subsequence(
        trace,
        [
            event(ev.DynamicLayerPushed, level=1, why="begins"),
            call(mul, front),
            node_created("MulBackward0"),
            event(ev.DynamicLayerPopped, level=1, why="passes the call on"),
            event(ev.NoNodeMade, operator=mul),
            event(ev.DynamicLayerPopped, level=1, why="ends"),
            event(ev.DynamicLayerPushed, level=1, why="begins"),
            event(ev.DynamicLayerPushed, level=2, why="begins"),
            node_created("MulBackward0"),
            event(ev.DynamicLayerPopped, level=2, why="passes the call on"),
            node_created("MulBackward0"),
            event(ev.DynamicLayerPopped, level=2, why="ends"),
            event(ev.DynamicLayerPopped, level=1, why="ends"),
        ],
    )
