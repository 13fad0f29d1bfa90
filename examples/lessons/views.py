# # Written through a view: whose grad_fn changes?
#
# `v` is a view of `base`: two numbers of it, no copy. Writing to `v` therefore changes `base`,
# whose history is another. This is how a model writes into a part of a buffer, and the gradient
# comes out right. How does autograd keep the histories of both true?

import torch

x = torch.ones(4, requires_grad=True)
w = torch.full((2,), 3.0, requires_grad=True)
base = x * 2
v = base[1:3]
v.mul_(w)
base.sum().backward()

# ## Predict
#
# `mul_` is written as `v`'s method and names `v` alone. Before you go on: what are the `grad_fn`
# of `v` and that of `base` after it?
#
# stop: Node SliceBackward0
# So far history runs the way the numbers came: from `v` to `base`, from there to `x`. Keep pane 6
# open.
#
# predict: redispatch mul_ to ADInplaceOrView
# `x * 2` went from autograd to CPU at once. A call that makes a view or writes has one kernel more
# on its way. Its guard leaves ADInplaceOrView in, and so does the mask.
#
# ## Run
#
# stop: event VersionBumped
# That is what the kernel is for. `v` and `base` share one counter, so `base` is known to be
# changed, although nobody named it. The count comes after the write.
#
# ## Investigate
#
# stop: Node CopySlices
# So `base` has a new `grad_fn`. MulBackward0 was the history of all four numbers, and is still
# that of two. CopySlices stands for all four, with MulBackward0 behind it. The Node of `mul_` is
# held within: no `next_functions` shows it, `O` does.
#
# stop: Node AsStridedBackward0
# And `v` has one, too. SliceBackward0 leads to MulBackward0 and misses the write, so `v` gets a
# Node that takes its place in `base`. The roles have changed: now the history of `v` is that of
# `base`.
#
# predict: event DependenciesCounted
# Two Nodes lead to the write, CopySlices and AsStridedBackward0. No path goes from the sum to the
# second, so nothing waits for it: it is there for whoever uses `v` from now on.
#
# stop: run CopySlices
# It copies the gradient, takes the two numbers that `v` was, runs the Node within on a clone of
# them, and writes its result back over them. The other two numbers pass as they came: the write
# left them alone.
#
# stop: w.grad
# The Node within has a second edge, for `w`. CopySlices has it for its own, so `w` is reached,
# too. `x.grad` ends as 2, 6, 6, 2.
#
# ## Modify
#
# stop: `v = base[1:3]`
# Press `W` here and run this line under `no_grad`. The write to `v` now raises an error. Why may
# autograd not just leave the history of `base` as it was?
#
# ## Make
#
# Write a program that takes two views of one base, writes to the first and only then reads
# `grad_fn` of the second. When is its new Node made: at the write, or when it is read?


def facts():
    """What the prose says of PyTorch."""
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
    """Rebased, regenerated, and only the first of the two runs."""
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
