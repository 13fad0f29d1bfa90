# # Which Node does the engine run next?
#
# `backward` walks the graph back from `z`. The graph forks at `a + b`, and both branches lead to
# `x`. Which branch goes first? How does the engine make sure that `x` gets its gradient only when
# both parts have arrived? If you know the engine's queue, counts and buffers, you can predict the
# order of a backward pass, and what it keeps in memory.

import torch

x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
a = x.exp()
b = x * w
z = (a + b).sum()
z.backward()

# ## Predict
#
# First draw the Nodes: one for each call, one for each leaf, and an edge for each input that
# requires grad. Compare with the picture in pane 6 later.
#
# predict: event DependenciesCounted
# The engine counts edges, not Nodes: two edges between the same Nodes count twice. A Node is ready
# when its count has dropped to 0, so its summed gradient is always complete.
#
# predict: run MulBackward0
# Two Nodes were ready. The queue returns the one with the largest sequence number. The forward
# pass assigned these numbers in order, so the call that ran last there runs first here: `b = x *
# w` is the later line.
#
# ## Run
#
# predict: fourth event DependencyMet
# MulBackward0 has returned a gradient for `x`. It stays in the input buffer of `x`'s
# AccumulateGrad, outside of the queue, until the other edge has been followed.
#
# ## Investigate
#
# predict: run AccumulateGrad
# AccumulateGrad takes no number from the counter. Its number is the largest possible, UINT64_MAX.
# So a leaf's gradient is written as soon as it is complete, even if other Nodes are ready.
#
# stop: last event GradientBuffered
# The second gradient for `x` arrives at the buffer. This sum has no Node: the engine adds. Nothing
# else holds the first gradient, so the engine adds into its memory and allocates nothing.
#
# stop: x.grad
# The order is Sum, Add, Mul, `w`'s AccumulateGrad, Exp, `x`'s AccumulateGrad. `S` goes back
# through it, and pane 9 shows the queue at each step.
#
# ## Modify
#
# Go to the line `b = x * w` and press `W`: switch `requires_grad` of `w` off. Which Nodes are
# left, and in which order do they run? Then swap the lines of `a` and `b` in a copy of the
# program. Which branch runs first?
#
# ## Make
#
# Write a program in which one leaf has three edges to its AccumulateGrad, and another leaf gets
# its gradient before the engine has run half of the Nodes.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    def order(swapped):
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        if swapped:
            b = x * w
            a = x.exp()
        else:
            a = x.exp()
            b = x * w
        total = a + b
        z = total.sum()
        leaves = dict(zip("xw", (edge[0] for edge in b.grad_fn.next_functions), strict=True))
        nodes = {"Sum": z.grad_fn, "Add": total.grad_fn, "Mul": b.grad_fn, "Exp": a.grad_fn, **leaves}
        assert leaves["x"] is a.grad_fn.next_functions[0][0], "both branches lead to one Node"
        assert leaves["x"]._sequence_nr() == 2**64 - 1
        assert (a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()) is not swapped
        ran = []
        for name, node in nodes.items():
            node.register_prehook(lambda gradients, name=name: ran.append(name))
        z.backward()
        assert torch.allclose(x.grad, torch.ones(2).exp() + 1)
        return " ".join(ran)

    assert order(swapped=False) == "Sum Add Mul w Exp x"
    assert order(swapped=True) == "Sum Add Exp Mul x w", "what ran last in the forward runs first"

    x = torch.ones(2, requires_grad=True)
    y, arrived = x * x, []
    leaf = y.grad_fn.next_functions[0][0]
    assert leaf is y.grad_fn.next_functions[1][0], "a Node that leads twice to the same one"
    leaf.register_prehook(lambda gradients: arrived.append(gradients[0].tolist()))
    y.sum().backward()
    assert arrived == [[2, 2]], "it runs once, when both edges have been followed"

    x = torch.ones(2, requires_grad=True)
    first = []
    a, b = x.exp(), x * 3
    b.grad_fn.register_hook(lambda results, gradients: first.append(results[0].data_ptr()))
    (a + b).sum().backward()
    assert x.grad.data_ptr() == first[0], "the sum was written where the first gradient was"

    x = torch.ones(2, requires_grad=True)
    a, b, held = x.exp(), x * 3, []
    b.grad_fn.register_hook(lambda results, gradients: held.append(results[0]))
    (a + b).sum().backward()
    assert held[0].tolist() == [3, 3], "a gradient that is also held elsewhere is not written to"
    assert x.grad.data_ptr() != held[0].data_ptr()


def check(trace):
    """Check the order in which the Nodes ran, and the counts that waited."""
    from dispatchviz.core.record import events as ev

    ran = ["SumBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad", "ExpBackward0", "AccumulateGrad"]
    names = [name if name != "AccumulateGrad" else f"torch::autograd::{name}" for name in ran]
    assert_sequence(trace, [node_ran(name) for name in names])
    counted = next(each for each in trace if isinstance(each, ev.DependenciesCounted))
    assert sorted(count for _, count in counted.counts) == [1, 1, 1, 1, 2]
    assert_count(trace, event(ev.DependencyMet, left=1), 1)
    assert_count(trace, event(ev.GradientBuffered, how="added in place"), 1)
    assert_count(trace, event(ev.GradientAccumulated, how="stolen"), 2)
