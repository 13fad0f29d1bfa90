# # Why is my gradient None?
#
# `.grad` is None, and no error says why. There are only a few causes, and each can be seen at one
# step. The program has five tensors that require grad. After its last `backward`, how many of them
# have a gradient?

import torch

x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True) * 0.5
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
c = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([x, a, b, c])
with torch.no_grad():
    k = b * 2
y = x * w * a.detach() * k
(of_x,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
y.sum().backward()
optimizer.zero_grad()

# ## Predict
#
# Read the program, and write down for `x`, `w`, `a`, `b` and `c`: does it have a gradient after the
# line `y.sum().backward()`?
#
# stop: w's Node
# ask: `w` requires grad. Is it a leaf?
# - yes: it was created with `requires_grad=True`
#   That was the tensor before `* 0.5`. It has no name.
# - no: an operator computed it
# answer: w.is_leaf -> no
# because: `w` is the result of `* 0.5`, so it has a Node.
#
# This is the first cause: only leaves keep a gradient. `.to("cuda")` and `.float()` have the same
# effect if they create a new tensor. Create the leaf last:
# `(torch.ones(2) * 0.5).requires_grad_()`. For a result in the middle, `w.retain_grad()` keeps its
# gradient.
#
# predict: event NoNodeMade in `k = b * 2`
# The second cause is a cut: no path leads from the loss to `b`. `k` is like a constant. Inference
# mode, `.item()`, and `torch.tensor(b)` cut the path as well. So do operators without a derivative,
# such as `argmax`, and a custom Function whose `backward` returns None.
#
# stop: event NoNodeMade in `a.detach()`
# This is a cut on purpose. `.data` cuts in the same way.
#
# ## Run
#
# stop: `(of_x,) = torch.autograd.grad`
# ask: This line computes the gradient of `x`. What is `x.grad` after it?
# - [1, 1]
#   `of_x` has these numbers.
# - None
# answer: x.grad -> None
# because: `torch.autograd.grad` returns gradients and writes no `.grad`.
#
# The third cause: `backward` has not written it. The program has called `grad`, or
# `backward(inputs=...)` for other tensors, or nothing at all.
#
# stop: second event BackwardStarted
# ask: Which of `x`, `a`, `b` and `c` have a gradient after this backward?
# - only x
# - x and a: both are in the product
#   `a.detach()` is in the product, and no path leads from it to `a`.
# - x, a, b and c: all are leaves that require grad
#   A leaf gets a gradient only if a path leads to it.
# answer: "only x" if x.grad is not None and all(t.grad is None for t in [a, b, c]) else "x and a" -> only x
# because: The paths to `a` and `b` are cut, and `c` is not used at all.
#
# `c` shows the fourth cause: the loss does not depend on it. A layer that `forward` does not call
# gets no gradients for the same reason.
#
# ## Investigate
#
# stop: last run AccumulateGrad
# A gradient has come to the nameless leaf behind `w`. It is written to `.grad` of a tensor that the
# program cannot reach.
#
# stop: `optimizer.zero_grad()`
# ask: What is `x.grad` at the end of the program?
# - [0, 0]
#   `zero_grad(set_to_none=False)` would do that.
# - [1, 1]
# - None
# answer: x.grad -> None
# because: `zero_grad` does not write zeros. It sets `.grad` to None.
#
# The fifth cause is the time: you looked before backward, or after `zero_grad`. So ask in this
# order: Is it a leaf? Does it require grad? Has backward run since? Does a path lead to it? Pane 6
# shows the paths.
#
# ## Modify
#
# Go to the line `k = b * 2` and press `W`: run it under `enable_grad`. Which tensor gets a gradient
# now?
#
# ## Make
#
# Repair the program: at its end, `x`, `w`, `a`, `b` and `c` are leaves that have a gradient, and
# `y` has the same numbers as before. How can `c` take part without a change of the numbers?
#
# goal: all(each.is_leaf and each.grad is not None for each in [x, w, a, b, c])
# goal: y.tolist() == [1, 1]
# hint: Go through the five causes, one after the other. Which line has which cause?
# hint: Create the leaf `w` last, remove the two cuts, and look at `.grad` before `zero_grad`.
# hint: `c` takes part in `... + c * 0`. Its gradient is 0, but it is not None.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_five_tensors()
    facts_of_cuts()
    facts_of_a_repair()


def facts_of_five_tensors():
    """Check which tensor of the program has a gradient, and when."""
    import torch

    x, a, b, c = (torch.ones(2, requires_grad=True) for _ in range(4))
    nameless = torch.ones(2, requires_grad=True)
    w = nameless * 0.5
    assert not w.is_leaf
    assert w.requires_grad
    optimizer = torch.optim.SGD([x, a, b, c])
    with torch.no_grad():
        k = b * 2
    assert not k.requires_grad
    y = x * w * a.detach() * k
    (of_x,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert of_x.tolist() == [1, 1]
    assert x.grad is None
    w.retain_grad()
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert [t.grad for t in (a, b, c)] == [None, None, None]
    assert nameless.grad.tolist() == [1, 1]
    assert w.grad.tolist() == [2, 2], "retain_grad keeps it"
    optimizer.zero_grad()
    assert x.grad is None
    (x * 2).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0, 0]


def facts_of_cuts():
    """Check other operations that cut the path, or create a tensor that is not a leaf."""
    import warnings

    import torch

    b = torch.ones(2, requires_grad=True)
    assert b.double().is_leaf is False
    assert b.float() is b, "no new tensor"
    assert (torch.ones(2) * 0.5).requires_grad_().is_leaf
    assert b.data.requires_grad is False
    assert not b.argmax().requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not torch.tensor(b).requires_grad
    with torch.inference_mode():
        assert not (b * 2).requires_grad

    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    Cut.apply(b).sum().backward()
    assert b.grad is None
    used, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (used * other).sum().backward(inputs=[used])
    assert used.grad is not None
    assert other.grad is None


def facts_of_a_repair():
    """Check a solution of the last task."""
    import torch

    x, a, b, c = (torch.ones(2, requires_grad=True) for _ in range(4))
    w = (torch.ones(2) * 0.5).requires_grad_()
    y = x * w * a * (b * 2) + c * 0
    assert y.tolist() == [1, 1]
    y.sum().backward()
    assert all(t.grad is not None for t in (x, w, a, b, c))


def check(trace):
    """Check which leaves get a gradient, and when it is gone."""
    from dispatchviz.core.record import events as ev

    assert_count(trace, event(ev.BackwardStarted), 2)
    assert_count(trace, event(ev.GradientCaptured), 1)
    assert_count(trace, event(ev.GradientAccumulated), 2)
    assert_subsequence(
        trace,
        [
            event(ev.NoNodeMade, why="grad mode is off"),
            event(ev.NoNodeMade, why="detached"),
            event(ev.GradientCaptured),
            event(ev.GradientAccumulated),
            event(ev.GradientAccumulated),
            event(ev.GradSet, result=None),
        ],
    )
