# # Does autograd skip `sum`?
#
# `sum` has no weights. It reduces a tensor to one number.

import torch

x = torch.ones(3, requires_grad=True)
total = x.sum()

# stop: Node SumBackward0
# ask: What is `total.grad_fn` after this line?
# - None: `sum` only reads the numbers of `x`
#   `sum` has a derivative. It is 1 for each element of `x`.
# - AccumulateGrad: `x` is a leaf
# - SumBackward0: like other operators, `sum` has a Node
# answer: total.grad_fn -> SumBackward0
# because: This step makes the Node SumBackward0. The kernel of `sum` for AutogradCPU makes it.
#
# Weights do not matter. An operator makes a Node if it has a derivative, grad mode is on, and an argument requires
# grad. In backward, SumBackward0 gives each element of `x` the gradient of the sum. An operator without a derivative,
# such as `argmax`, makes no Node.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.ones(3, requires_grad=True)
    assert x.sum().grad_fn.name() == "SumBackward0"
    (x.sum() * 5).backward()
    assert x.grad.tolist() == [5, 5, 5]
    assert x.sum().grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert x.argmax().grad_fn is None


def check(trace):
    """Check that the autograd kernel makes the Node before the CPU runs."""
    assert_subsequence(trace, [call("aten::sum", "AutogradCPU"), redispatch("aten::sum", "CPU")])
    assert_count(trace, node_created("SumBackward0"), 1)
