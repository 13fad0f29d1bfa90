# # Whose grad_fn changes in a write through a view?
#
# `v` is a view of two numbers of `base`, not a copy. So writing to `v` changes `base`, which has a
# different history. This is how a model writes into a part of a buffer, and the gradient is right.
# How does autograd keep both histories correct?

import torch

x = torch.ones(4, requires_grad=True)
w = torch.full((2,), 3.0, requires_grad=True)
base = x * 2
v = base[1:3]
v.mul_(w)
base.sum().backward()

# ## Predict
#
# `mul_` is called as a method of `v` and names only `v`. Before you go on: what are the `grad_fn`
# of `v` and that of `base` after the call?
#
# stop: Node SliceBackward0
# So far the history follows the numbers: from `v` to `base`, and from there to `x`. Keep pane 6
# open.
#
# predict: redispatch mul_ to ADInplaceOrView
# `x * 2` went from autograd to CPU at once. A call that creates a view or writes passes through
# one more kernel. Its guard does not exclude ADInplaceOrView, and its mask keeps the key.
#
# ## Run
#
# stop: event VersionBumped
# This is the purpose of the kernel. `v` and `base` share one counter, so `base` counts as changed,
# although the call did not name it. The version is incremented after the write.
#
# ## Investigate
#
# stop: Node CopySlices
# So `base` has a new `grad_fn`. MulBackward0 was the history of all four numbers, and now is that
# of two. CopySlices represents all four, with MulBackward0 behind it. It contains the Node of
# `mul_`, which `next_functions` does not show, but `O` does.
#
# stop: Node AsStridedBackward0
# `v` has a new one, too. SliceBackward0 leads to MulBackward0 and misses the write, so `v` gets a
# Node that takes its numbers from `base`. The roles have changed: now the history of `v` follows
# from that of `base`.
#
# predict: event DependenciesCounted
# Two Nodes lead to the write, CopySlices and AsStridedBackward0. No path goes from the sum to the
# second, so nothing waits for it. It is there for later uses of `v`.
#
# stop: run CopySlices
# CopySlices clones the gradient, takes the two numbers that belong to `v`, runs the inner Node on
# a clone of them, and writes its result back over them. The other two numbers pass through
# unchanged, because the write did not touch them.
#
# stop: w.grad
# The inner Node has a second edge, for `w`. CopySlices takes over that edge, so the gradient also
# reaches `w`. `x.grad` ends as 2, 6, 6, 2.
#
# ## Modify
#
# stop: `v = base[1:3]`
# Press `W` here and run this line under `no_grad`. The write to `v` now raises an error. Why must
# autograd not leave the history of `base` as it was?
#
# ## Make
#
# Write a program that takes two views of one base, writes to the first, and only then reads
# `grad_fn` of the second. When is its new Node created: at the write, or when you read it?


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    writes_or_views = ("aten::mul_.Tensor", "aten::slice.Tensor", "aten::mul.Tensor")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert [has_kernel(name, "ADInplaceOrView") for name in writes_or_views] == [True, True, False]
    x = torch.ones(4, requires_grad=True)
    w = torch.full((2,), 3.0, requires_grad=True)
    base = x * 2
    v, other = base[1:3], base[:1]
    before = base.grad_fn
    assert v._base is base
    assert v.data_ptr() == base.data_ptr() + base.element_size(), "no copy"
    assert type(v.grad_fn).__name__ == "SliceBackward0"
    assert v.grad_fn.next_functions == ((before, 0),)
    stale = other.grad_fn
    v.mul_(w)
    assert v._version == base._version == 1, "one counter"
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert base.grad_fn.next_functions[0][0] is before
    assert type(base.grad_fn.next_functions[1][0]).__name__ == "AccumulateGrad"
    assert len(base.grad_fn.next_functions) == 2, "the Node of mul_ is within"
    assert type(v.grad_fn).__name__ == "AsStridedBackward0"
    assert v.grad_fn.next_functions == ((base.grad_fn, 0),)
    assert other.grad_fn is not stale, "made when it is read"
    assert other.grad_fn._sequence_nr() > v.grad_fn._sequence_nr() > base.grad_fn._sequence_nr()
    base.sum().backward()
    assert x.grad.tolist() == [2, 6, 6, 2]
    assert w.grad.tolist() == [2, 2]
    base = x * 2
    with torch.no_grad():
        v = base[1:3]
    try:
        v.mul_(w)
        message = ""
    except RuntimeError as error:
        message = str(error)
    assert "A view was created in no_grad mode and is being modified inplace" in message


def check(trace):
    """Check that the history is rebased and regenerated, and that only CopySlices runs."""
    mul = "aten::mul_.Tensor"
    assert_subsequence(
        trace,
        [
            call("aten::mul.Tensor", "AutogradCPU"),
            redispatch("aten::mul.Tensor", "CPU"),
            node_created("SliceBackward0"),
            call(mul, "AutogradCPU"),
            redispatch(mul, "ADInplaceOrView"),
            redispatch(mul, "CPU"),
            node_created("torch::autograd::CopySlices"),
            node_created("AsStridedBackward0"),
        ],
    )
    assert_count(trace, node_ran("torch::autograd::CopySlices"), 1)
    assert_never(trace, redispatch("aten::mul.Tensor", "ADInplaceOrView"))
    assert_never(trace, node_ran("AsStridedBackward0"))
    assert_never(trace, node_ran("SliceBackward0"))
