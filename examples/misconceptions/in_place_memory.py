# # Does an in-place operator always save memory?
#
# `mul_` writes its result into the memory of `h`. Backward computes a gradient for `h` and for `w`.

import torch

x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
h = x * 2
h.mul_(w)

# stop: call clone
# ask: How many copies of `h` does this line make?
# - 0: in place means without new memory
#   That is true of the kernel for CPU. The kernel for AutogradCPU, which runs before it, needs more.
# - 1: the old values are still needed
# - 2: one for each argument
# answer: count("call clone") -> 1
# because: This call copies `h` before the kernel for CPU overwrites it.
#
# stop: last event VariableSaved in `h.mul_(w)`
# `t5` is the copy. MulBackward0 saves it as `self`, the first argument of `mul_`.
#
# An in-place operator saves memory only if backward does not need the values that it overwrites. Here it needs as much
# memory as `h = h * w`. If a Node had saved `h` earlier, `mul_` would cause an error in backward.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    h = x * 2
    h.mul_(w)
    saved = h.grad_fn._saved_self
    assert saved.tolist() == [2, 2]
    assert saved.data_ptr() != h.data_ptr()

    h = x * 2
    y = h * h
    h.mul_(w)
    said = ""
    try:
        y.sum().backward()
    except RuntimeError as error:
        said = str(error)
    assert "modified by an inplace operation" in said


def check(trace):
    """Check that the copy comes before the write."""
    assert_subsequence(trace, [call("aten::mul_.Tensor"), call("aten::clone"), redispatch("aten::mul_.Tensor", "CPU")])
