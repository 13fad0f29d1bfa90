# # How does PyTorch notice that a saved tensor changed?
#
# `y * y` saves `y` for backward. If `y` is changed in place after that, the gradient would be
# wrong, and you would not notice. PyTorch raises an error instead. Here the change is made through
# a detached tensor, which autograd cannot see, and PyTorch notices it nevertheless. How?

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
# AutogradCPU wins again: every ordinary CPU tensor has it, and detaching does not change keys.
# Look at the keys below it in the set now: there is one more than for `torch.mul`.
#
# predict: event NoNodeMade in `d.mul_`
# So the graph does not contain this call. If only autograd watched for changes, this one would go
# unnoticed.
#
# predict: redispatch mul_ to ADInplaceOrView
# This key is between autograd and the backend. It serves operators that write to an argument or
# create a view. For `torch.mul` its cell contains a fallthrough. For `mul_` it has a kernel with a
# single task.
#
# ## Run
#
# stop: event VersionBumped in `d.mul_`
# ask: Only `d` was written to. Which version does `y` have now?
# - 0: nothing wrote to `y`
#   `y` has another Python object, but the same memory.
# - 1: it shares the counter of `d`
# answer: y._version -> 1
# because: `d` and `y` share one version counter.
#
# This is the task: the kernel lets the CPU write, and then increments the version of the tensor. A
# detached tensor shares the version counter along with the memory, so `y` is at version 1 as well.
#
# ## Investigate
#
# stop: event VariableSaved in `z =`
# Earlier, when `y` was saved, its version was saved, too. This saved variable and the counter are
# all that is needed. Nothing compares numbers.
#
# stop: event InplaceChecked in `d.mul_`
# Before anything is written, autograd's kernel checks whether it may be. A leaf that requires grad
# must not be written to, and neither must some views. `d` may.
#
# stop: run MulBackward0
# The Node needs its saved tensor, so it unpacks it. Unpacking compares the two versions. The error
# is not the write, but the use of the saved tensor after it.
#
# stop: error
# The message names the operator that created `y`, not the line that changed it. The sentence above
# names the line.
#
# ## Modify
#
# Go to the line `d.mul_(3)`, press `W`, and leave it out. Is there a gradient? Then edit the file
# and write `y.data` for `y.detach()`. There is no error. Is the gradient right? What is not shared
# in this case?
#
# ## Make
#
# Change one line so that the in-place write stays, no error is raised, and the gradient is right:
# choose an operator for `z` that does not have to save `y`.
#
# goal: happens("call mul_")
# goal: not happens("error")
# goal: x.grad.tolist() == [[4, 4], [4, 4]]
# hint: Which operator computes `z`, and what does its Node save?
# hint: MulBackward0 saves both inputs. Look for an operator whose derivative needs no input.
# hint: `z = y + y` saves nothing, because the derivative of a sum is 1 for each input.


def facts():
    """Check the claims of the prose against PyTorch."""
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
    """Check that the CPU writes before the version is bumped, and that backward ends at the Node that saved y."""
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
