# # Does a sum of losses keep only a number?
#
# The loop adds up the losses, to print their mean later.

import torch

w = torch.tensor(1.0, requires_grad=True)
total = 0
for batch in (1, 2, 3):
    loss = w * batch
    total += loss

# stop: `total += loss`
# ask: What is `total.grad_fn` after this line?
# - None: `total` is only a number
#   `total` begins as a number of Python. But a number plus a tensor is a tensor.
# - MulBackward0: it is the Node of `loss`
# - AddBackward0: the sum is a recorded call
# answer: total.grad_fn -> AddBackward0
# because: `loss` requires grad, so the sum is recorded like any other call.
#
# stop: last event EdgesCollected
# This is the last iteration. The first edge leads to the AddBackward0 of the iteration before, the second to the
# MulBackward0 of this one.
#
# `total` keeps the graphs of all iterations in memory, with their saved tensors. Memory grows with each iteration.
# Write `total += loss.item()` or `total += loss.detach()`: then each graph can be freed.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    w = torch.tensor(1.0, requires_grad=True)

    def nodes(value):
        total = 0
        for batch in (1, 2, 3):
            loss = w * batch
            total += value(loss)
        found, left = set(), [getattr(total, "grad_fn", None)]
        while left:
            node = left.pop()
            if node is not None and node not in found:
                found.add(node)
                left += [after for after, _ in node.next_functions]
        return sorted(node.name().rpartition(":")[2] for node in found)

    assert nodes(lambda loss: loss) == ["AccumulateGrad"] + ["AddBackward0"] * 3 + ["MulBackward0"] * 3
    assert nodes(lambda loss: loss.item()) == []
    assert nodes(lambda loss: loss.detach()) == []


def check(trace):
    """Check that each iteration makes two Nodes."""
    assert_count(trace, node_created("AddBackward0"), 3)
    assert_count(trace, node_created("MulBackward0"), 3)
