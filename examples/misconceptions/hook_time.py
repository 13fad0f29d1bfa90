# # When does the hook of a tensor run?
#
# The program registers a hook on `h`, and the hook prints a word.

import torch

x = torch.tensor(1.0, requires_grad=True)
h = x * 2
h.register_hook(lambda gradient: print("hook"))
y = h + 1
y.backward()

# stop: `y = h + 1`
# ask: Has the program printed `hook` after this line?
# - yes: a hook runs in forward, when `h` is used
#   Hooks of modules can run there. The hook of a tensor waits for a gradient.
# - no: the hook waits for backward
# answer: happens('printed "hook"') -> no
# because: The line only calls `add`. The hook needs the gradient of `h`, and that does not exist yet.
#
# stop: printed "hook"
# This step is within `y.backward()`. AddBackward0 has computed the gradient of `h`, and MulBackward0 waits.
#
# `tensor.register_hook` registers a function of the gradient. It runs in each backward pass, before the Node of the
# tensor. `module.register_forward_hook` registers a function that runs in forward.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    said = []
    x = torch.tensor(1.0, requires_grad=True)
    h = x * 2
    h.register_hook(lambda gradient: said.append("hook"))
    h.grad_fn.register_hook(lambda *gradients: said.append("MulBackward0"))
    y = h + 1
    y.grad_fn.register_hook(lambda *gradients: said.append("AddBackward0"))
    assert said == []
    y.backward(retain_graph=True)
    y.backward()
    assert said == ["AddBackward0", "hook", "MulBackward0"] * 2

    layer = torch.nn.Linear(1, 1)
    layer.register_forward_hook(lambda module, given, output: said.append("forward"))
    layer(torch.ones(1, 1))
    assert said[-1] == "forward"


def check(trace):
    """Check that both Nodes run."""
    assert_subsequence(trace, [node_ran("AddBackward0"), node_ran("MulBackward0")])
