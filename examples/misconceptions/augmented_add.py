# # Is `y += 1` the same as `y = y + 1`?
#
# `y` and `x` are two names of one tensor.

import torch

x = torch.tensor(1.0)
y = x
y += 1

# stop: call add_
# ask: What is the value of `x` after this line?
# - 1: `y += 1` means `y = y + 1`
#   For numbers of Python it does. A tensor defines `+=` itself.
# - 2: the line changes the tensor of both names
# answer: x.item() -> 2
# because: The line calls `add_`, the in-place operator. It writes to the tensor that both names mean.
#
# stop: last event NumbersRecorded in `y += 1`
# The call has written 2 into the tensor. No call of this line has made a new tensor for the result.
#
# `y = y + 1` calls `add` and makes a new tensor for the name `y`. `y += 1` changes the tensor, for every name and
# every view. That can also change a tensor that a Node has saved.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.tensor(1.0)
    y = x
    y = y + 1
    assert (x.item(), y is x) == (1, False)
    y = x
    view = x.view(1)
    y += 1
    assert (x.item(), y is x, view.item(), x._version) == (2, True, 2, 1)


def check(trace):
    """Check that the line calls the in-place operator alone."""
    assert_count(trace, call("aten::add_.Tensor"), 1)
    assert_never(trace, call("aten::add.Tensor"))
