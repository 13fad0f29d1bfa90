# # Does `loss.backward()` change the weights?
#
# This is one iteration of a training loop with the learning rate 0.1.

import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
loss = w * 3
loss.backward()
optimizer.step()

# stop: w.grad
# ask: What is `w` after this line?
# - 0.7: backward moves `w` against its gradient
#   Backward does not know the learning rate. Only the optimizer knows it.
# - 1: backward does not write to `w`
# - 3: backward stores the gradient in `w`
# answer: w.item() -> 1
# because: This step writes the gradient 3 to `w.grad`. No step of backward writes to `w` itself.
#
# stop: event NumbersRecorded in `optimizer.step()`
# Here `w` becomes 0.7. The optimizer writes to `w`, under `no_grad`.
#
# Backward computes gradients and stores them in `.grad`. `optimizer.step()` reads the gradients and changes the
# weights.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 3).backward()
    assert (w.item(), w._version, w.grad.item()) == (1, 0, 3)
    optimizer.step()
    assert (round(w.item(), 6), w._version > 0, w.is_leaf) == (0.7, True, True)


def check(trace):
    """Check that the weight is written after the gradient."""
    assert_subsequence(trace, [node_ran("torch::autograd::AccumulateGrad"), call("aten::add_.Tensor")])
    assert_count(trace, call("aten::add_.Tensor"), 1)
