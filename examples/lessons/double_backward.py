# # How can a gradient have a grad_fn?
#
# A gradient penalty, a Hessian and a learned optimizer differentiate a gradient.
# `create_graph=True` makes that possible. The engine needs little for it: a Node computes with
# ordinary calls, and autograd can record those.

import torch

x = torch.tensor(3.0, requires_grad=True)
y = x * x
(first,) = torch.autograd.grad(y, x, create_graph=True)
(second,) = torch.autograd.grad(first, x)

# ## Predict
#
# On paper: `y` is 9. What are `first` and `second`? The Node of `y` computes `first`. Where could
# a `grad_fn` of `first` come from?
#
# predict: second Node MulBackward0
# The forward pass is over. This call of `mul` is the formula of `y`'s Node, and grad mode is on
# while it runs. That is what `create_graph` does. A call does not know its caller, so it records a
# Node as always.
#
# ## Run
#
# stop: second event EdgesCollected
# The incoming gradient is a 1 that does not require grad, so it has no edge. The other factor is
# the saved `x`, the leaf itself. The new graph ends at the same AccumulateGrad as the old one, and
# the Node of `y` is not part of it.
#
# stop: Node AddBackward0
# The program contains no addition. But two edges lead from the Node of `y` to `x`, so two
# gradients meet in a buffer. Grad mode is on, so their sum is recorded, too. Without
# `create_graph` the engine adds in place.
#
# stop: event GradientCaptured
# `first` is 6, and its `grad_fn` is the AddBackward0 of that sum. The graph of `y` is kept, too:
# `retain_graph` equals `create_graph` unless you say otherwise.
#
# ## Investigate
#
# predict: second event DependenciesCounted
# The engine does not know that a backward pass recorded this graph. It counts and queues as
# always.
#
# predict: second run MulBackward0
# The thread's counter kept counting during the first pass, so Nodes that formulas record have
# sequence numbers just as those of a forward pass do.
#
# predict: event NoNodeMade
# The second call has no `create_graph`, so grad mode is off in its formulas. `second` is 2 and has
# no `grad_fn`. The chain of derivatives ends here.
#
# ## Modify
#
# Go to the line of `first` and press `W`: run it under `no_grad`. Does `first` still have a
# `grad_fn`? What decides the grad mode within a pass?
#
# ## Make
#
# Compute the third derivative of `x * x * x` with three calls of `grad`. Count the Nodes that each
# pass records before you look.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    made = y.grad_fn._sequence_nr()
    leaf = y.grad_fn.next_functions[0][0]
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert first.item() == 6
    assert type(first.grad_fn).__name__ == "AddBackward0", "the sum in the buffer is recorded"
    products = [node for node, _ in first.grad_fn.next_functions]
    assert [type(node).__name__ for node in products] == ["MulBackward0", "MulBackward0"]
    assert all(node.next_functions == ((None, 0), (leaf, 0)) for node in products)
    assert y.grad_fn not in products, "the Node of y is not part of the graph"
    assert sorted(node._sequence_nr() for node in products) == [made + 1, made + 2]
    assert first.grad_fn._sequence_nr() == made + 3
    assert y.grad_fn._saved_self is x, "the graph of y is kept"

    (second,) = torch.autograd.grad(first, x)
    assert second.item() == 2
    assert second.grad_fn is None

    returned = []
    with y.grad_fn.register_hook(lambda results, _: returned.extend(r.data_ptr() for r in results)):
        (first,) = torch.autograd.grad(y, x, retain_graph=True)
        assert first.data_ptr() in returned, "without create_graph the sum is added in place"
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        assert first.data_ptr() not in returned[2:]

    with torch.no_grad():
        (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert first.grad_fn is not None, "create_graph decides, not the caller's grad mode"
    (first,) = torch.autograd.grad(y, x)
    assert first.grad_fn is None


def check(trace):
    """Check which Nodes the first pass recorded, and that the second recorded none."""
    from dispatchviz.core.record import events as ev

    passes = [each for each in trace if isinstance(each, ev.BackwardStarted)]
    assert [each.create_graph for each in passes] == [True, False]
    within = event(ev.BackwardStarted, create_graph=True)
    made = [node_created("MulBackward0"), node_created("MulBackward0"), node_created("AddBackward0")]
    assert_sequence(trace, made, within=within)
    assert_never(trace, node_created(), within=event(ev.BackwardStarted, create_graph=False))
    assert_count(trace, event(ev.GradientBuffered, how="added out of place"), 1)
