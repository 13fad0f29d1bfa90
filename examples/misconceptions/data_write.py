# # Is it safe to write through `.data`?
#
# `MulBackward0` saves `x`. The program then writes to `x.data`. The gradient of `w` should be 2, the value of `x` in
# the forward pass.

import torch

w = torch.tensor(1.0, requires_grad=True)
x = torch.tensor(2.0)
y = w * x
x.data.fill_(10)
y.backward()

# stop: run MulBackward0
# ask: What is `w.grad` after this line?
# - RuntimeError: backward notices the write
# - 2: a write through `.data` does not disturb autograd
#   It disturbs autograd without a sign. The saved tensor has changed, too.
# - 10: backward uses the new value of `x`
# answer: w.grad.item() -> 10
# because: Saving does not copy. So MulBackward0 uses the new value of `x`, and the gradient is wrong.
#
# stop: second event NumbersRecorded in `y.backward()`
# MulBackward0 has multiplied by 10. No step raises an error.
#
# PyTorch notices a write by the version of the tensor. A write through `.data` does not change the version of `x`.
# Write to `x.detach()` or under `torch.no_grad()` instead: both change the version, and backward raises an error.
# `dispatchviz why` also finds a write through `.data`.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    def version_and_error(write):
        w = torch.tensor(1.0, requires_grad=True)
        x = torch.tensor(2.0)
        y = w * x
        write(x)
        try:
            y.backward()
        except RuntimeError as error:
            return x._version, "modified by an inplace operation" in str(error)
        return x._version, w.grad.item()

    def under_no_grad(x):
        with torch.no_grad():
            x.fill_(10)

    assert version_and_error(lambda x: x.data.fill_(10)) == (0, 10)
    assert version_and_error(lambda x: x.detach().fill_(10)) == (1, True)
    assert version_and_error(under_no_grad) == (1, True)


def check(trace):
    """Check that backward does not end with an error."""
    assert_subsequence(
        trace, [call("aten::fill_.Scalar"), node_ran("MulBackward0"), node_ran("torch::autograd::AccumulateGrad")]
    )
