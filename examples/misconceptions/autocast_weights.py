# # Does autocast change the parameters?
#
# The layer has weights of dtype float32. The program calls it under autocast to bfloat16.

import torch

layer = torch.nn.Linear(2, 2)
x = torch.ones(1, 2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)

# stop: call linear at AutocastCPU
# ask: What is `layer.weight.dtype` after this line?
# - torch.bfloat16: autocast converts the layer
#   Autocast is a kernel in front of some operators. It does not know modules.
# - torch.float32: the weight does not change
# answer: layer.weight.dtype -> torch.float32
# because: This call goes to AutocastCPU. Its kernel makes bfloat16 copies of the arguments and calls `linear` again
# with the copies.
#
# `y` has dtype bfloat16, and the weights and their gradients stay float32. Autocast casts only for operators of its
# lists, such as `linear` and `mm`. `layer.bfloat16()` is different: it converts the parameters.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
        assert torch.mm(x, x.t()).dtype == torch.bfloat16
        assert torch.mul(x, x).dtype == torch.float32
    assert (y.dtype, layer.weight.dtype) == (torch.bfloat16, torch.float32)
    y.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    layer.bfloat16()
    assert layer.weight.dtype == torch.bfloat16


def check(trace):
    """Check that the call begins at the autocast key."""
    assert_count(trace, call("aten::linear", "AutocastCPU"), 1)
