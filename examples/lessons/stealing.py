# # When does .grad share memory with the gradient that arrives?
#
# At the end of a backward pass each leaf gets its gradient. Copying every gradient would take time
# and memory. Never copying would leave two tensors that each treat the same memory as their own.
# So AccumulateGrad checks every gradient. The result decides how much memory the gradients of a
# large model take while they are computed.

import torch

x = torch.ones(2, 3, requires_grad=True)
(x * 5).sum().backward()
y = torch.ones(2, 3, requires_grad=True)
y.sum().backward()
w = torch.ones(2, 3, requires_grad=True)
(w.t() * 5).sum().backward()
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
((u + v) * 5).sum().backward()
(x * 5).sum().backward()

# ## Predict
#
# Look at each line before you answer. Which Node returns the leaf's gradient, does its formula
# create a new tensor, and who else may hold that tensor?
#
# predict: first x.grad
# It is stolen: the tensor that `mul` created becomes `x.grad`, detached. Pane 9 lists the
# conditions, one per line. All of them have to hold.
#
# stop: y.grad
# The gradient of `sum` is one number, expanded to the shape of `y`: six elements in the memory of
# one. The other conditions hold. But as a `.grad`, this tensor could not be written to.
#
# ## Run
#
# predict: w.grad
# Nothing else holds this gradient either. But TBackward0 has transposed it, so its memory layout
# differs from that of `w`. The layout contract says that a new `.grad` gets the strides of its
# leaf, if the leaf is dense. An optimizer then reads both in the same order.
#
# ## Investigate
#
# predict: u.grad
# AddBackward0 has passed the very same tensor to both its edges, and the one for `v` still waits
# in a buffer. If it were stolen here, any later addition to `u.grad` would change the gradient of
# `v`.
#
# stop: v.grad
# This is the same tensor as before. Now `u` has a copy, the buffers are empty, and nothing else
# holds the tensor, so the last leaf may keep it.
#
# predict: last x.grad
# An existing `.grad` stays the same tensor, so an optimizer that holds it sees the sum. This is
# why gradients add up over several calls of `backward` until you set them to None or zero.
#
# ## Modify
#
# Go to the line `y.sum().backward()` and press `W`: `dtype float64` of `y`. Now `y.grad` is
# stolen. Which Node has created the new tensor? Then write `backward(create_graph=True)` in the
# last line of a copy of the program. Is the gradient still added in place?
#
# ## Make
#
# Write a program in which two leaves get their gradients from one `backward`, both stolen. Then
# write one in which a hook of yours is the reason for a copy.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    def stolen(leaves, loss):
        """Return for each leaf whether its .grad has the memory of the gradient that arrived."""
        arrived = {}
        hooks = [
            leaf.register_hook(lambda gradient, k=k: arrived.__setitem__(k, gradient.data_ptr()))
            for k, leaf in enumerate(leaves)
        ]
        loss.backward()
        for hook in hooks:
            hook.remove()
        return [leaf.grad.data_ptr() == arrived[k] for k, leaf in enumerate(leaves)]

    def ones(*shape):
        return torch.ones(*shape, requires_grad=True)

    x, y, w = ones(2, 3), ones(2, 3), ones(2, 3)
    assert stolen([x], (x * 5).sum()) == [True]
    assert x.grad.grad_fn is None
    assert stolen([y], y.sum()) == [False]
    assert stolen([w], (w.t() * 5).sum()) == [False]
    assert y.grad.stride() == y.stride() == (3, 1), "an expanded gradient becomes dense"
    assert w.grad.stride() == w.stride() == (3, 1), "the layout contract"

    leaf = torch.ones(1).expand(3).requires_grad_()
    (leaf * 5).sum().backward()
    assert (leaf.stride(), leaf.grad.stride()) == ((0,), (1,)), "this leaf is not dense"

    seen = []
    y = ones(2, 3)
    y.register_hook(lambda gradient: seen.append(gradient.stride()))
    y.sum().backward()
    assert seen == [(0, 0)]
    said = ""
    try:
        torch.ones(1).expand(3).add_(1)
    except RuntimeError as error:
        said = str(error)
    assert "single memory location" in said, "an expanded tensor cannot be written to"

    y = ones(2, 3)
    assert stolen([y], y.to(torch.float64).sum()) == [True], "a cast makes a new tensor"

    u, v = ones(2), ones(2)
    given = []
    total = u + v
    total.grad_fn.register_hook(lambda results, _: given.extend(r.data_ptr() for r in results))
    assert stolen([u, v], (total * 5).sum()) == [False, True], "the last one keeps it"
    assert given[0] == given[1], "the same tensor to both"
    assert u.grad.data_ptr() != v.grad.data_ptr()

    before, version = x.grad, x.grad._version
    (x * 5).sum().backward()
    assert x.grad is before, ".grad stays the same tensor"
    assert x.grad._version == version + 1
    assert x.grad.unique().tolist() == [10]


def check(trace):
    """Check how each `.grad` got its gradient."""
    from dispatchviz.core.record import events as ev

    how = ["stolen", "copied", "copied", "copied", "stolen", "added in place"]
    assert_sequence(trace, [event(ev.GradientAccumulated, how=each) for each in how])
