# # Does a second `backward()` always fail?
#
# The program calls backward twice on one graph, without `retain_graph`.

import torch

x = torch.tensor(1.0, requires_grad=True)
y = x + x
y.backward()
y.backward()

# stop: second `y.backward()`
# ask: What is `x.grad` after the second backward?
# - RuntimeError: the first backward has freed the graph
#   Backward frees the saved tensors. Nodes and edges stay as long as `y` exists.
# - 2: the second backward has no effect
# - 4: both backward passes run
# answer: x.grad.item() -> 4
# because: The second backward adds 2 to `x.grad`. AddBackward0 saved no tensor, so the first backward could free none.
#
# stop: last event NumbersRecorded
# AddBackward0 has run a second time, and `x.grad` holds the sum.
#
# The error comes from a Node that needs a saved tensor which is free already. With `y = x * x`, MulBackward0 needs two
# of them, and the second backward raises. Use `retain_graph=True` if you need two backward passes: then you need not
# know what the Nodes save.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    def gradient(f):
        x = torch.tensor(1.0, requires_grad=True)
        y = f(x)
        y.backward()
        assert y.grad_fn.next_functions[0][0] is not None
        try:
            y.backward()
        except RuntimeError as error:
            return "Trying to backward through the graph a second time" in str(error)
        return x.grad.item()

    assert gradient(lambda x: x + x) == 4
    assert gradient(lambda x: x * x) is True


def check(trace):
    """Check that the Node runs twice."""
    assert_count(trace, node_ran("AddBackward0"), 2)
