# # Does `retain_graph` keep gradients?
#
# `h` is between `x` and `y`. The program calls backward with `retain_graph=True`.

import torch

x = torch.tensor(1.0, requires_grad=True)
h = x * 2
y = h * h
y.backward(retain_graph=True)

# stop: x.grad
# ask: What is `h.grad` after this line?
# - None: `h` is not a leaf
# - 4: `retain_graph=True` keeps the gradient of `h`
#   `retain_graph` keeps the graph. A gradient is not a part of the graph.
# - RuntimeError: a tensor that is not a leaf has no `.grad`
# answer: h.grad -> None
# because: This step writes `x.grad`. No step writes `h.grad`.
#
# `retain_graph=True` keeps the tensors that the Nodes saved, so backward can run a second time. To keep the
# gradient of `h`, call `h.retain_grad()` before backward.


def facts():
    """Check the claims of the prose on PyTorch."""
    import warnings

    import torch

    x = torch.tensor(1.0, requires_grad=True)
    h = x * 2
    y = h * h
    y.backward(retain_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert h.grad is None
    assert y.grad_fn._saved_self is h
    h.retain_grad()
    y.backward()
    assert h.grad.item() == 4


def check(trace):
    """Check that one leaf gets its gradient."""
    assert_count(trace, node_ran("torch::autograd::AccumulateGrad"), 1)
