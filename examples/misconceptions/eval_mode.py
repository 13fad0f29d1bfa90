# # Is `model.eval()` the same as `torch.no_grad()`?
#
# The program calls a layer after `eval()`. Its weights are ordinary parameters.

import torch

layer = torch.nn.Linear(2, 1)
layer.eval()
y = layer(torch.ones(1, 2))

# stop: Node AddmmBackward0
# ask: Does `y` require grad?
# - yes: `eval()` does not change what autograd records
# - no: `eval()` turns gradients off
#   `eval()` sets `layer.training` to False. Autograd does not read this flag.
# answer: y.requires_grad -> yes
# because: This step makes the Node AddmmBackward0. So autograd records the call as before `eval()`.
#
# `eval()` is for modules that behave differently in training, such as dropout and batch norm. `torch.no_grad()` is for
# autograd: calls make no Nodes, but dropout in training mode still drops elements. For evaluation, use both.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.5))
    x = torch.ones(1, 64)
    with torch.no_grad():
        y = model(x)
    assert (y.grad_fn, bool((y == 0).any())) == (None, True), "it drops elements, but makes no Node"
    assert model.training
    model.eval()
    assert not model[0].training
    assert torch.is_grad_enabled()
    assert model(x).requires_grad
    assert bool((model(x) != 0).all())


def check(trace):
    """Check that the layer has a Node."""
    assert_count(trace, node_created("AddmmBackward0"), 1)
