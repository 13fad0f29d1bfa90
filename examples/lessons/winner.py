# # Which key wins a call?
#
# A call has keys from each of its tensors and from the thread, and one of them wins the call. The
# rule is four operations on sets, and then a maximum. If you know it, you can tell which kernel
# runs without a debugger. Three calls show the whole rule: a plain one, one with tensors of two
# backends, and one in inference mode.

import torch

x = torch.ones(2, 2)
y = torch.add(x, x)

on_meta = torch.ones(2, 2, device="meta")
z = torch.add(on_meta, torch.tensor(2.0))

with torch.inference_mode():
    x.mul_(2)

# ## Predict
#
# Before each question you see the sets before the rule is applied. Keys are listed from high to
# low. This order is fixed and does not depend on the call. So do not look for a key that fits:
# look for the highest one that may stay.
#
# predict: call add in `y =`
# AutocastCPU is higher but does not win: the thread excludes it, and exclusion overrides
# everything else. Every thread excludes it until autocast is on.
#
# predict: call add in `z =`
# The sets of both arguments are united, so the call has a CPU and a Meta. All backends share the
# one bit for autograd, and the highest backend in the set is paired with it: Meta is above all
# others. The order of the arguments does not matter.
#
# predict: call mul_ in `x.mul_`
# Inference mode excludes the autograd keys, and no longer includes ADInplaceOrView. But `x` was
# created before the block and has ADInplaceOrView itself: a key that the thread does not include
# may still come from a tensor. And `mul_` has a kernel for it, which `add` has not.
#
# ## Run
#
# stop: key set of add in `y =`
# Pane 2 shows the whole rule, from top to bottom: the union of the arguments, plus the
# thread-local include set, minus the exclude set, and the mask of the operator. The highest key
# that is left wins.
#
# ## Investigate
#
# stop: skipped keys of add in `y =`
# The mask belongs to the operator, not to the call. It has a 0 for each key whose dispatch table
# entry (cell) is a fallthrough. This costs a call only one `&`.
#
# stop: key set of mul_ in `x.mul_`
# The rule is the same, but the result differs. The mask of `mul_` keeps ADInplaceOrView. Compare
# this with the pane at the call of `add`: which of the four rows are different, and why?
#
# stop: cell of mul_ in `x.mul_`
# The winner is converted to a number, which is the index of a cell in the table of `mul_`. There
# is no other search. `T` shows the whole table. If a cell is empty, the call does not try the next
# key: it raises an error.
#
# ## Modify
#
# Go to the line `y = torch.add(x, x)` and press `W`. Try inference mode and autocast, each alone.
# Which of the four rows of pane 2 changes? Does the winner change?
#
# ## Make
#
# Write a call with a real tensor and the conjugate of a complex one: `torch.add(x, c.conj())`.
# First write down the union, then the winner, then the key that the redispatch goes to. Check your
# answer with `dispatchviz run FILE`.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    keys, key_set, key = torch._C._dispatch_keys, torch._C.DispatchKeySet, torch._C.DispatchKey
    included = torch._C._dispatch_tls_local_include_set
    excluded = torch._C._dispatch_tls_local_exclude_set
    x, on_meta = torch.ones(2, 2), torch.ones(2, 2, device="meta")

    united = (keys(x) | included()) - excluded()
    assert keys(x).highestPriorityTypeId() == key.AutocastCPU, "the highest key of the tensor"
    assert united.highestPriorityTypeId() == key.AutogradCPU, "but the thread excludes it"
    with torch.autocast("cpu"):
        assert ((keys(x) | included()) - excluded()).highestPriorityTypeId() == key.AutocastCPU

    both = (keys(on_meta) | keys(torch.tensor(2.0)) | included()) - excluded()
    assert both.has(key.CPU)
    assert both.highestPriorityTypeId() == key.AutogradMeta
    assert torch.add(torch.tensor(2.0), on_meta).device.type == "meta"
    names = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3"
    backends = [key_set(getattr(key, name)) for name in names.split()]
    assert all((each | key_set(key.Meta)).highestPriorityTypeId() == key.Meta for each in backends)

    with_conjugate = keys(x) | keys(torch.ones(2, dtype=torch.complex64).conj())
    assert (with_conjugate - excluded()).highestPriorityTypeId() == key.AutogradCPU
    below = with_conjugate - excluded() - key_set(key.AutogradCPU) - key_set(key.ADInplaceOrView)
    assert below.highestPriorityTypeId() == key.Conjugate, "where the redispatch goes"

    with torch.inference_mode():
        assert not included().has(key.ADInplaceOrView)
        assert keys(x).has(key.ADInplaceOrView), "it comes from the tensor"
        left = (keys(x) | included()) - excluded()
        assert left.highestPriorityTypeId() == key.ADInplaceOrView
    assert included().has(key.ADInplaceOrView)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::mul_.Tensor", "ADInplaceOrView")
    assert not has_kernel("aten::add.Tensor", "ADInplaceOrView")
    rows = torch._C._dispatch_dump_table("aten::add.Tensor").splitlines()
    [row] = [each for each in rows if each.startswith("ADInplaceOrView:")]
    assert "fallthrough" in row, "so the mask of add leaves it out"

    library = torch.library.Library("lesson_winner", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CUDA")
    said = ""
    try:
        torch.ops.lesson_winner.f(x)
    except NotImplementedError as error:
        said = str(error)
    assert "Could not run" in said, "an empty cell is an error"


def check(trace):
    """Check which key wins each of the three calls."""
    add, mul = "aten::add.Tensor", "aten::mul_.Tensor"
    assert_subsequence(
        trace,
        [
            call(add, "AutogradCPU"),
            redispatch(add, "CPU"),
            call(add, "AutogradMeta"),
            redispatch(add, "Meta"),
            call(mul, "ADInplaceOrView"),
            kernel("ADInplaceOrView::mul__Tensor", under="ADInplaceOrView"),
            redispatch(mul, "CPU"),
        ],
    )
