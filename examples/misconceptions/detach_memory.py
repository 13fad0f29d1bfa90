# # Does `detach()` copy?
#
# `d` does not require grad, so the program may write to it.

import torch

x = torch.tensor(1.0, requires_grad=True)
d = x.detach()
d.add_(5)

# stop: last event NumbersRecorded in `d.add_(5)`
# ask: What is the value of `x` after this line?
# - 1: `detach()` copies, so `x` does not change
#   `detach()` makes a new tensor, but the new tensor uses the memory of `x`.
# - 6: `d` and `x` have the same memory
# - RuntimeError: `x` is a leaf that requires grad
# answer: x.item() -> 6
# because: The call has written to `d`. At this step, `x` holds 6, too.
#
# `detach()` returns a tensor without history on the same memory. It cuts the graph and copies nothing. For a copy
# without history, write `x.detach().clone()`.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.tensor(1.0, requires_grad=True)
    d = x.detach()
    assert (d is x, d.data_ptr() == x.data_ptr(), d.grad_fn, d.requires_grad) == (False, True, None, False)
    assert x.detach().clone().data_ptr() != x.data_ptr()


def check(trace):
    """Check that nothing copies before the write."""
    assert_never(trace, call("aten::clone"))
    assert_subsequence(trace, [call("aten::detach"), call("aten::add_.Tensor")])
