# # Does a call dispatch only once?
#
# The line calls one operator once.

import torch

x = torch.tensor(1.0, requires_grad=True)
y = x.exp()

# stop: redispatch exp to CPU
# ask: How many kernels of `exp` does this line run?
# - 1: one call, one kernel
#   The dispatcher chooses one kernel at a time. But a kernel can call the dispatcher again.
# - 2: one for autograd and one for the CPU
# - 3: one for each key of `x`
# answer: count("call exp") + count("redispatch exp") -> 2
# because: This step is the second dispatch of the line. The kernel for AutogradCPU made the Node, and calls `exp` again
# for the keys below.
#
# A call goes to the highest key of its key set. The kernel of that key does its part and redispatches with the lower
# keys. So the call passes through several kernels, until the kernel of the backend computes the result.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    table = torch._C._dispatch_dump_table("aten::exp")
    rows = {row.partition(":")[0]: row for row in table.splitlines()}
    assert "[autograd kernel]" in rows["AutogradCPU"]
    assert "[kernel]" in rows["CPU"]
    assert "fallthrough" in rows["ADInplaceOrView"]
    assert torch._C._dispatch_keys(torch.tensor(1.0)).has(torch._C.DispatchKey.ADInplaceOrView)


def check(trace):
    """Check the way of the call."""
    assert_subsequence(trace, [call("aten::exp", "AutogradCPU"), redispatch("aten::exp", "CPU")])
