# # Does backward overwrite `.grad`?
#
# The program calls backward on two losses, without `zero_grad()` between them.

import torch

w = torch.tensor(1.0, requires_grad=True)
(w * 2).backward()
(w * 3).backward()

# stop: run AccumulateGrad in `(w * 3)`
# ask: What is `w.grad` after this line?
# - 2: the first backward has set it
# - 3: the second backward overwrites it
#   Then `zero_grad()` would not be needed.
# - 5: the second backward adds to it
# answer: w.grad.item() -> 5
# because: AccumulateGrad adds the new gradient 3 to the 2 that `w.grad` already has.
#
# stop: second w.grad
# This step changes `w.grad` in place: it is the same tensor as before.
#
# Backward adds to `.grad`. That is why a training loop calls `zero_grad()` in each iteration: without it, the gradients
# of earlier iterations stay in the sum. Some programs use the sum on purpose: they add the
# gradients of several small batches and then call `step()` once.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 2).backward()
    (w * 3).backward()
    assert w.grad.item() == 5
    optimizer.zero_grad()
    assert w.grad is None
    (w * 3).backward()
    assert w.grad.item() == 3


def check(trace):
    """Check that two gradients are accumulated."""
    assert_count(trace, node_ran("torch::autograd::AccumulateGrad"), 2)
