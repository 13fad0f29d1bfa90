# # In which order does backward run the Nodes?
#
# `x` has two uses, and each use makes a Node. Backward runs AddBackward0 first. Then both gradients are ready.

import torch

x = torch.tensor(1.0, requires_grad=True)
a = x * 2
b = x.exp()
y = a + b
y.backward()

# stop: run ExpBackward0
# ask: AddBackward0 has run. Which Node runs next?
# - MulBackward0: its line comes first in the program
#   The engine does not read lines. It compares the sequence numbers of the Nodes that are ready.
# - ExpBackward0: it was made last
# - AccumulateGrad: the gradient of `x` comes first
# answer: "ExpBackward0" if step("run ExpBackward0") < step("run MulBackward0") else "MulBackward0" -> ExpBackward0
# because: ExpBackward0 runs now. Both Nodes are ready, and ExpBackward0 has the larger sequence number.
#
# A Node is ready when all its gradients have arrived. Among the Nodes that are ready, the engine runs the Node with the
# largest sequence number. That is the Node that was made last. AccumulateGrad is an exception: it has the largest
# number of all, so it runs as soon as it is ready. Here it waits for the gradients from both uses of `x`.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.tensor(1.0, requires_grad=True)
    order = []
    a = x * 2
    b = x.exp()
    y = a + b
    leaf = a.grad_fn.next_functions[0][0]
    nodes = [y.grad_fn, b.grad_fn, a.grad_fn, leaf]
    for node in nodes:
        node.register_prehook(lambda gradients, node=node: order.append(node))
    y.backward()
    assert order == nodes
    assert leaf._sequence_nr() > b.grad_fn._sequence_nr() > a.grad_fn._sequence_nr()


def check(trace):
    """Check the order of the Nodes."""
    names = ["AddBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert_subsequence(trace, [node_ran(name) for name in names])
