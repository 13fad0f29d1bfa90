# # Does every tensor keep its gradient?
#
# Backward computes the gradients of `y`, of `h` and of `x`, in this order.

import torch

x = torch.tensor(1.0, requires_grad=True)
h = x * 2
y = h * 3
y.backward()

# stop: x.grad
# ask: Which tensors have a gradient in `.grad` after this line?
# - all three: backward computes their gradients
#   Backward computes them. But it passes most of them on and does not keep them.
# - only x: it is a leaf
# - only y: backward was called on it
# answer: "only x" if x.grad is not None and h.grad is None and y.grad is None else "all three" -> only x
# because: This step writes `x.grad`, and no other step writes a `.grad`. AccumulateGrad does it, and only a leaf has
# AccumulateGrad.
#
# The gradient of `h` goes from Node to Node, and then its memory is free again. Call `h.retain_grad()` before backward
# if you want to look at `h.grad`.


def facts():
    """Check the claims of the prose on PyTorch."""
    import warnings

    import torch

    x = torch.tensor(1.0, requires_grad=True)
    h = x * 2
    y = h * 3
    y.backward(retain_graph=True)
    assert (x.is_leaf, h.is_leaf, y.is_leaf) == (True, False, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert h.grad is None
        assert y.grad is None
    h.retain_grad()
    y.backward()
    assert h.grad.item() == 3


def check(trace):
    """Check that the gradient passes both Nodes, and that one AccumulateGrad runs."""
    assert_count(trace, node_ran("MulBackward0"), 2)
    assert_count(trace, node_ran("torch::autograd::AccumulateGrad"), 1)
