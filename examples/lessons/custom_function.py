# # What does autograd know of a custom Function?
#
# Rounding has the derivative 0, so a model that rounds cannot learn. A custom Function can pass the
# gradient on as if nothing was rounded. You write both directions yourself: `forward` computes, and
# `backward` is the formula. What does autograd record of your forward? Does it check your backward?

import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        return (x / step).round() * step

    @staticmethod
    def backward(ctx, grad):
        return grad, None


x = torch.tensor([0.3, 0.9], requires_grad=True)
y = Rounded.apply(x, 0.5)
(y * y).sum().backward()
z = x.round()
(slope,) = torch.autograd.grad(z.sum(), x)

# ## Predict
#
# `x` has two numbers. With the step 0.5, `y` is 0.5 and 1. The forward makes three calls: `div`,
# `round` and `mul`. Each of them has a derivative of its own in PyTorch.
#
# stop: Node RoundedBackward
# ask: How many Nodes lead from `y` back to the AccumulateGrad of `x`?
# - one
# - three
#   `div`, `round` and `mul` would be recorded outside of a Function.
# - none
#   Then `backward` would raise an error. It does not.
# answer: "one" if node("RoundedBackward").next[0].name == "AccumulateGrad" else "three" -> one
# because: The whole Function is one Node, named after its class.
#
# The Node exists before your forward runs. It already has its edge to `x`.
#
# ## Run
#
# predict: event NoNodeMade in `(x / step)`
# `apply` has switched grad mode off for your forward. `div` still goes through its autograd kernel,
# but that kernel records nothing. The same holds for `round` and `mul`.
#
# stop: event FunctionOutput
# Your forward has returned. Only now `apply` sets `grad_fn` of the result. Within the forward, the
# result did not require grad.
#
# stop: run RoundedBackward
# The engine calls your `backward` like any other formula. It passes one gradient for each output.
# It expects one for each argument of the forward. `step` is a number, so its gradient is None.
#
# ## Investigate
#
# stop: x.grad
# ask: What is `x.grad` after this line?
# - [1, 2]
# - [0, 0]
#   That is the derivative of rounding. Your `backward` does not compute it.
# - [0.6, 1.8]
#   That would be the gradient of `x * x`. But the numbers of `y` are rounded.
# answer: x.grad -> [1, 2]
# because: The gradient of `y` is `2 * y`, and your `backward` returns it unchanged.
#
# Nothing compares `backward` with `forward`. Autograd trusts your formula.
#
# stop: event GradientCaptured
# ask: `x.round()` has PyTorch's own formula. What is `slope`?
# answer: slope -> [0, 0]
# because: If `x` moves a little, the rounded numbers stay the same. So the derivative is 0.
#
# Pane 6 shows this graph: RoundBackward0 is between `z` and `x`. All that comes before this call in
# a model would get the gradient 0.
#
# ## Modify
#
# Go to the line `y = Rounded.apply(x, 0.5)` and press `W`: run it under `no_grad`. Why does the
# next line raise an error? Then let `backward` return only `grad` in a copy of the program. What
# does that error count?
#
# ## Make
#
# Write a Function `Cube`. Its forward keeps `x` with `ctx.save_for_backward(x)` and returns
# `x * x * x`. Its backward reads `ctx.saved_tensors`. Call it with
# `x = torch.tensor([1.0, 2.0], requires_grad=True)`, and call `backward` on the sum of the result.
# Compute `x.grad` on paper first. `torch.autograd.gradcheck` compares a backward with its forward.
#
# goal: happens("run CubeBackward")
# goal: x.grad.tolist() == [3, 12]
# hint: `backward` gets the gradient of the result. By what does it have to multiply it?
# hint: The derivative of x³ is 3x². The numbers of `x` are in `ctx.saved_tensors`, which is a
#   tuple.
# hint: `(x,) = ctx.saved_tensors`, and then `return 3 * x * x * grad`.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_one_node()
    facts_of_wrong_returns()
    facts_of_a_cube()


def facts_of_one_node():
    """Check that a Function is one Node, and that autograd trusts its backward."""
    import torch

    seen = []

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, step):
            result = (x / step).round() * step
            seen.append((torch.is_grad_enabled(), result.requires_grad))
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x = torch.tensor([0.3, 0.9], requires_grad=True)
    y = Rounded.apply(x, 0.5)
    assert seen == [(False, False)], "grad mode is off, and the result has no history yet"
    assert y.tolist() == [0.5, 1]
    assert y.grad_fn.name() == "RoundedBackward"
    assert len(y.grad_fn.next_functions) == 1
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    (y * y).sum().backward()
    assert x.grad.tolist() == [1, 2], "the formula of the class, not the derivative"
    (slope,) = torch.autograd.grad(x.round().sum(), x)
    assert slope.tolist() == [0, 0]
    with torch.no_grad():
        assert Rounded.apply(x, 0.5).grad_fn is None


def facts_of_wrong_returns():
    """Check the error of a backward that returns too few gradients."""
    import torch

    class Short(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, step):
            return x * step

        @staticmethod
        def backward(ctx, grad):
            return grad

    said = ""
    try:
        Short.apply(torch.ones(2, requires_grad=True), 0.5).sum().backward()
    except RuntimeError as error:
        said = str(error)
    assert "incorrect number of gradients (expected 2, got 1)" in said


def facts_of_a_cube():
    """Check a solution of the last task."""
    import torch

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 12]
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Cube.apply, exact)


def check(trace):
    """Check the Nodes of both lines, and that the forward recorded none."""
    from dispatchviz.core.record import events as ev

    assert_count(trace, node_created("RoundedBackward"), 1)
    assert_never(trace, node_created("DivBackward0"))
    assert_subsequence(
        trace,
        [
            node_created("RoundedBackward"),
            event(ev.FunctionEntered, recorded=True),
            call("aten::div.Tensor", "AutogradCPU"),
            event(ev.FunctionOutput),
            node_ran("RoundedBackward"),
            node_ran("torch::autograd::AccumulateGrad"),
            node_created("RoundBackward0"),
        ],
    )
