# # Who notices that a saved tensor was changed?
#
# `y * y` keeps `y` for backward. If `y` is changed in place after that, the gradient would come out
# wrong, without a word. PyTorch raises an error instead. Here the change goes by a way that
# autograd cannot see, through a detached tensor, and it is noticed nevertheless. By whom?

import torch

x = torch.ones(2, 2, requires_grad=True)
y = x * 2
z = y * y

d = y.detach()
d.mul_(3)

z.sum().backward()

# raises: RuntimeError

# ## Predict
#
# `d` shares memory with `y` and does not require grad. `d.mul_(3)` writes into that memory.
#
# predict: call mul_
# AutogradCPU again: every ordinary CPU tensor has it. That `d` is detached is no matter of keys.
# Look at what is below it in the set now: one key more than for `torch.mul`.
#
# predict: event NoNodeMade in `d.mul_`
# So the graph knows nothing of this call. If autograd were the one that keeps watch, the change
# would go by unseen.
#
# predict: redispatch mul_ to ADInplaceOrView
# This key stands between autograd and the backend, for operators that write to an argument or make
# a view. For `torch.mul` its cell holds a fallthrough. For `mul_` there is a kernel, made for one
# task.
#
# ## Run
#
# stop: event VersionBumped in `d.mul_`
# And this is the task: the kernel lets the CPU write, and afterwards adds one to the version of the
# tensor. `detach()` shares the counter with the memory, so `y` is at version 1 as well.
#
# ## Investigate
#
# stop: event VariableSaved in `z =`
# Earlier, where `y` was saved, the version was written down beside it. This saved variable and the
# counter are all that is needed: nobody compares numbers.
#
# stop: event InplaceChecked in `d.mul_`
# Before anything is written, autograd's kernel asks whether it may be. A leaf that requires grad
# must not be written to, nor some views; `d` may.
#
# stop: run MulBackward0
# The Node needs what it has saved, so it unpacks it, and unpacking compares the two versions. Not
# the write is the error, but the use of what was saved.
#
# stop: error
# The message names the operator that made `y`, not the line that changed it. The sentence above
# does.
#
# ## Modify
#
# Go to the line `d.mul_(3)`, press `W`, and leave it out: is there a gradient? Then edit the file
# and write `y.data` for `y.detach()`. There is no error. Is the gradient right? What was not
# shared?
#
# ## Make
#
# Change one line so that the in-place write stays and no error is raised, and the gradient is
# right: choose an operator for `z` that does not have to save `y`.


def facts():
    """What the prose says of PyTorch."""
    import torch

    def forward():
        x = torch.ones(2, 2, requires_grad=True)
        y = x * 2
        return x, y

    x, y = forward()
    z = (y * y).sum()
    d = y.detach()
    assert (y._version, d._version, d.requires_grad) == (0, 0, False)
    assert torch._C._dispatch_keys(d) == torch._C._dispatch_keys(y), "no matter of keys"
    assert z.grad_fn.next_functions[0][0]._saved_self is y
    d.mul_(3)
    assert (y._version, d._version, d.grad_fn) == (1, 1, None), "one counter, and no Node"
    said = ""
    try:
        z.backward()
    except RuntimeError as error:
        said = str(error)
    assert "which is output 0 of Mul, is at version 1; expected version 0 instead" in said

    x, y = forward()
    z = (y * y).sum()
    y.data.mul_(3)
    assert y._version == 0, "x.data has a counter of its own"
    z.backward()
    assert x.grad.tolist() == [[24, 24], [24, 24]], "of 3 times y: it should be 8"

    x, y = forward()
    z = (y + y).sum()
    y.detach().mul_(3)
    z.backward()
    assert x.grad.tolist() == [[4, 4], [4, 4]], "add saves nothing"

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::mul_.Tensor", "ADInplaceOrView")
    assert not has_kernel("aten::mul.Tensor", "ADInplaceOrView")
    rows = torch._C._dispatch_dump_table("aten::mul.Tensor").splitlines()
    [row] = [each for each in rows if each.startswith("ADInplaceOrView:")]
    assert "fallthrough" in row
    leaf = torch.ones(2, requires_grad=True)
    said = ""
    try:
        leaf.mul_(2)
    except RuntimeError as error:
        said = str(error)
    assert "a leaf Variable that requires grad is being used in an in-place operation" in said


def check(trace):
    """The CPU writes, then the version is bumped; backward ends at the Node that saved y."""
    mul = "aten::mul_.Tensor"
    kinds = [type(each).__name__ for each in trace]
    [bumped] = [k for k, kind in enumerate(kinds) if kind == "VersionBumped"]
    written = next(each.seq for each in trace if redispatch(mul, "CPU").matches(each))
    assert written < trace[bumped].seq, "after the write"
    assert kinds.index("ErrorRaised") > bumped
    assert_subsequence(
        trace,
        [
            node_created("MulBackward0"),
            node_created("MulBackward0"),
            call(mul, "AutogradCPU"),
            redispatch(mul, "ADInplaceOrView"),
            kernel("ADInplaceOrView::mul__Tensor"),
            redispatch(mul, "CPU"),
            node_ran("MulBackward0"),
        ],
    )
    assert_count(trace, node_ran("MulBackward0"), 1)
