# # Does `requires_grad` change a tensor's keys?
#
# The dispatcher reads the keys of a call's tensors. The highest key decides which kernel runs.

import torch

x = torch.tensor(1.0)
y = x + 1

# stop: call add
# ask: `x` does not require grad. To which key does this call go first?
# - CPU: `x` has an autograd key only if it requires grad
#   The dispatcher does not read `requires_grad`. It reads only keys.
# - AutogradCPU: also without `requires_grad`
# - BackendSelect: it finds the backend of the tensors
# answer: key("call add") -> AutogradCPU
# because: This call goes to AutogradCPU. Every ordinary CPU tensor has this key from the moment it is made.
#
# stop: key set of add
# The key set has AutogradCPU, and no tensor here requires grad.
#
# `requires_grad` is a flag of the tensor and not a key. The kernel for AutogradCPU reads the flag. It makes a Node
# only if grad mode is on and an argument requires grad. Then it calls the kernel for CPU.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.tensor(1.0)
    keys = torch._C._dispatch_keys(x)
    assert keys.has(torch._C.DispatchKey.AutogradCPU)
    assert (x + 1).grad_fn is None
    assert torch._C._dispatch_keys(x.requires_grad_()) == keys
    assert (x + 1).grad_fn is not None
    with torch.no_grad():
        assert (x + 1).grad_fn is None


def check(trace):
    """Check that the call begins at the autograd key."""
    assert_subsequence(trace, [call("aten::add.Tensor", "AutogradCPU"), redispatch("aten::add.Tensor", "CPU")])
