# # Does `torch.no_grad()` stop a graph that exists already?
#
# The forward pass runs with gradients. Only the backward pass runs under `no_grad`.

import torch

x = torch.tensor(1.0, requires_grad=True)
y = x * 2
with torch.no_grad():
    y.backward()

# stop: `y.backward()`
# ask: What is `x.grad` after this line?
# - None: `no_grad` stops the gradients
#   `no_grad` stops the recording of new calls. The call `x * 2` was recorded before.
# - 2: `y` has its graph already
# - RuntimeError: `y` does not require grad under `no_grad`
# answer: x.grad -> 2
# because: The graph of `y` was made before, so backward runs its Nodes.
#
# stop: run MulBackward0
# The Node of `y` runs within the `with` block.
#
# Under `no_grad`, calls make no Nodes. Nodes that exist stay, and backward runs them. Backward itself turns grad mode
# off, unless it gets `create_graph=True`. To cut a graph that exists, use `y.detach()`.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    modes = []
    y.register_hook(lambda gradient: modes.append(torch.is_grad_enabled()))
    with torch.no_grad():
        assert y.requires_grad
        assert (x * 2).grad_fn is None
        y.backward(retain_graph=True)
    assert x.grad.item() == 2
    torch.autograd.grad(y, x, create_graph=True)
    assert modes == [False, True]
    assert y.detach().grad_fn is None


def check(trace):
    """Check that the Node of y runs."""
    assert_subsequence(
        trace, [node_created("MulBackward0"), node_ran("MulBackward0"), node_ran("torch::autograd::AccumulateGrad")]
    )
