# # Can a program have its derivative without backward?
#
# `backward` needs a graph, and the graph keeps tensors until the end. Forward mode needs neither. A
# tensor carries a second tensor, its tangent: how fast its numbers change if the input moves in a
# direction that you choose. Every call computes its result and the tangent of its result. Which of
# the two modes is cheaper?

import torch
from torch.autograd import forward_ad

x = torch.tensor([1.0, 2.0, 3.0])
direction = torch.tensor([1.0, 0.0, 0.0])
with forward_ad.dual_level():
    dual = forward_ad.make_dual(x, direction)
    y = dual * dual
    z = y.sum()
    slope = forward_ad.unpack_dual(z).tangent
after = forward_ad.unpack_dual(z).tangent

# ## Predict
#
# `z` is the sum of the three squares. `direction` moves only the first number of `x`. On paper: how
# fast does `z` change?
#
# stop: event TangentSet in `make_dual`
# `dual` has the numbers of `x`, and `direction` is its tangent. Nothing is copied: `dual` is a view
# of `x`, and the tangent is stored as it is.
#
# predict: event NoNodeMade in `y = dual * dual`
# No input requires grad, so there is no graph. The tangent is not a part of the graph.
#
# ## Run
#
# stop: event ForwardFormulaEntered in `y = dual * dual`
# The same autograd kernel that would record a Node computes the tangent. It has a second formula
# for that. `_t` is a tangent, and `_p` is the tensor without its tangent. Autograd has both kinds
# of formulas, in one file: derivatives.yaml.
#
# stop: event ForwardFormulaEntered in `z = y.sum()`
# `sum` is linear, so its formula is the operator itself: the tangent of the sum is the sum of the
# tangents.
#
# stop: `slope = forward_ad`
# ask: What is `slope`?
# - 2: the derivative for the first number
# - 12: the derivatives of all three numbers together
#   That needs the direction [1, 1, 1].
# - [2, 4, 6]: the gradient of `z`
#   One pass with one direction computes one number for `z`.
# answer: slope -> 2
# because: The tangent of `y` is [2, 0, 0], because only the first number moves.
#
# No `backward` ran. The derivative was there as soon as the line of `z` was done.
#
# ## Investigate
#
# stop: `after = `
# ask: The block is over, and `z` still exists. What is `after`?
# - 2
# - None
# answer: after -> None
# because: A tangent belongs to a level of forward mode, and the block was that level.
#
# stop: event DualLevelLeft
# Here the level ended, and it dropped all its tangents at once.
#
# stop: `direction = torch.tensor`
# Compare the costs. One pass of forward mode gives the derivatives of all results in one direction.
# One backward gives the derivatives of one result for all inputs. A loss is one number, and a model
# has many parameters. So training uses backward.
#
# ## Modify
#
# Go to the line of `make_dual` and press `W`: switch `requires_grad` of `x` on. Which Nodes are
# created now, and which tangents? Then take the direction [1, 1, 1] in a copy of the program.
#
# ## Make
#
# Compute all three slopes of `z` into a list `slopes`: one pass for each row of `torch.eye(3)`.
# Then compare them with the gradient that one `backward` computes. `torch.func.jvp` does the steps
# of the block for you.
#
# goal: [float(each) for each in slopes] == [2, 4, 6]
# hint: What does a row of `torch.eye(3)` have in common with `direction`?
# hint: Put the block into a loop over the rows, and take each row as the tangent of `x`.
# hint: `slopes.append(forward_ad.unpack_dual(z).tangent.item())` within the block, at its end.


def facts():
    """Check the claims of the prose against PyTorch."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own use of torch.jit, when forward mode is first used
        facts_of_tangents()
        facts_of_a_graph_as_well()
        facts_of_all_slopes()


def facts_of_tangents():
    """Check the tangents, what is copied, and when they are gone."""
    import torch
    from torch.autograd import forward_ad

    x = torch.tensor([1.0, 2.0, 3.0])
    direction = torch.tensor([1.0, 0.0, 0.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, direction)
        assert dual.data_ptr() == x.data_ptr()
        assert dual._base is x
        assert forward_ad.unpack_dual(dual).tangent.data_ptr() == direction.data_ptr()
        y = dual * dual
        z = y.sum()
        assert z.grad_fn is None
        assert forward_ad.unpack_dual(y).tangent.tolist() == [2, 0, 0]
        assert forward_ad.unpack_dual(z).tangent.item() == 2
    assert forward_ad.unpack_dual(z).tangent is None
    assert z.item() == 14
    with forward_ad.dual_level():
        z = forward_ad.make_dual(x, torch.ones(3)).square().sum()
        assert forward_ad.unpack_dual(z).tangent.item() == 12


def facts_of_a_graph_as_well():
    """Check that a call can record a Node and compute a tangent."""
    import torch
    from torch.autograd import forward_ad

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.tensor([1.0, 0.0, 0.0]))
        z = (dual * dual).sum()
        assert z.grad_fn is not None
        tangent = forward_ad.unpack_dual(z).tangent
    assert tangent.item() == 2
    assert tangent.grad_fn is not None, "the formula of a tangent is recorded, too"


def facts_of_all_slopes():
    """Check a solution of the last task."""
    import torch
    from torch.autograd import forward_ad

    x = torch.tensor([1.0, 2.0, 3.0])
    slopes = []
    for direction in torch.eye(3):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, direction)
            slopes.append(forward_ad.unpack_dual((dual * dual).sum()).tangent.item())
    assert slopes == [2, 4, 6]
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == slopes
    _, slope = torch.func.jvp(lambda x: (x * x).sum(), (x.detach(),), (torch.tensor([1.0, 0.0, 0.0]),))
    assert slope.item() == 2


def check(trace):
    """Check the formulas of the two tangents, and that no Node is created."""
    from dispatchviz.core.record import events as ev

    assert_subsequence(
        trace,
        [
            event(ev.DualLevelEntered, level=0),
            event(ev.TangentSet, how="stored without a copy"),
            call("aten::mul.Tensor", "AutogradCPU"),
            event(ev.ForwardFormulaEntered, formula="other_t * self_p + self_t * other_p"),
            event(ev.TangentSet),
            call("aten::sum", "AutogradCPU"),
            event(ev.ForwardFormulaEntered, how="auto_linear"),
            event(ev.DualLevelLeft, tangents=3),
        ],
    )
    assert_never(trace, node_created())
    assert_never(trace, event(ev.BackwardStarted))
