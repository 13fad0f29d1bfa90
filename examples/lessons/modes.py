# # What do no_grad, inference mode and autocast change?
#
# All three are a `with` around a line, and after all three the result is not what it would have
# been. They work by different means, so they differ in what they save, and in what can be switched
# back inside. The same product of two matrices is computed four times: plain, and once under each.

import torch

x = torch.ones(2, 2)
w = torch.ones(2, 2, requires_grad=True)
y = torch.mm(x, w)
with torch.no_grad():
    silent = torch.mm(x, w)
with torch.inference_mode():
    bare = torch.mm(x, w)
with torch.autocast("cpu"):
    half = torch.mm(x, w)

# ## Predict
#
# `y = torch.mm(x, w)` begins with AutogradCPU: its kernel makes a Node, as `w` requires grad, and
# the CPU's kernel computes. What comes first under `no_grad`? Under the others?
#
# predict: call mm in `silent =`
# Nothing has changed. `no_grad` is a flag of the thread, not a key set: autograd's kernel is chosen
# as before, and only then does it look at the flag.
#
# predict: event NoNodeMade in `silent =`
# That look is all of `no_grad`. Then the kernel puts up its guard and redispatches, as if no input
# required grad. `silent` is an ordinary tensor: later calls may record it again.
#
# predict: call mm in `bare =`
# Inference mode works on key sets. The thread excludes the autograd keys, so their kernel is not
# even reached: one kernel less for each call. The price is paid by the result, which never gets
# them.
#
# predict: call mm in `half =`
# Autocast takes something out of what is excluded. The tensors had AutocastCPU all the time, and
# every thread excludes it by default. It is above autograd, so it comes first.
#
# ## Run
#
# stop: call mm at AutogradCPU in `half =`
# The kernel of autocast has cast both arguments and called `mm` again from the top, with itself
# excluded. So autograd sees bfloat16 arguments, and the casts are in the graph, too: the gradient
# of `w` comes back as float32.
#
# ## Investigate
#
# stop: event GradModeChanged
# Pane 7 has the thread: two key sets, and flags beside them. Only the flag of grad mode is another
# one.
#
# stop: guard InferenceMode
# Here it is the sets that change, like under any guard, and the flags as well.
#
# stop: event AutocastChanged
# One key leaves the excluded set. Which operators have a kernel at AutocastCPU is another matter:
# `mm` has one that casts, `add` has none and falls through.
#
# stop: half's Node
# The same Node as the plain call makes. Autocast does not turn autograd off, and it does not
# replace it: it only comes before it.
#
# ## Modify
#
# Go to the line `y = torch.mm(x, w)` and press `W`. Try each of the three there. What is the first
# step at which the two runs differ? For which of them is it the key set, for which a Node?
#
# ## Make
#
# Put `with torch.enable_grad():` inside of `no_grad`, then inside of inference mode. In which of
# the two is there a Node? Guess from what each has changed.


def facts():
    """What the prose says of PyTorch."""
    import torch

    keys, key = torch._C._dispatch_keys, torch._C.DispatchKey

    def thread():
        return torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()

    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    plain = thread()
    included, excluded = plain
    assert excluded.has(key.AutocastCPU)
    assert keys(x).has(key.AutocastCPU)
    with torch.no_grad():
        assert thread() == plain, "a flag, no key set"
        silent = torch.mm(x, w)
    assert silent.grad_fn is None
    assert not silent.is_inference()
    assert torch.mm(silent, w).grad_fn is not None, "an ordinary tensor"

    with torch.inference_mode():
        assert thread()[1] - excluded != torch._C.DispatchKeySet.from_raw_repr(0)
        assert thread()[1].has(key.AutogradFunctionality)
        assert not thread()[0].has(key.ADInplaceOrView)
        assert not torch.is_grad_enabled()
        bare = torch.mm(x, w)
        with torch.enable_grad():
            assert torch.mm(x, w).grad_fn is None, "the kernel of autograd is not reached"
    assert bare.is_inference()
    assert not keys(bare).has(key.AutogradCPU)
    with torch.no_grad(), torch.enable_grad():
        assert torch.mm(x, w).grad_fn is not None

    with torch.autocast("cpu"):
        assert not thread()[1].has(key.AutocastCPU)
        assert thread()[0] == included
        half, total = torch.mm(x, w), torch.add(x, w)
    assert thread() == plain
    assert (half.dtype, total.dtype) == (torch.bfloat16, torch.float32)
    assert type(half.grad_fn).__name__ == "MmBackward0" == type(torch.mm(x, w).grad_fn).__name__
    cast = half.grad_fn.next_functions[1][0]
    assert type(cast).__name__ == "ToCopyBackward0", "the cast is in the graph"
    half.sum().backward()
    assert w.grad.dtype == torch.float32
    assert key.AutocastCPU.value > key.AutogradFunctionality.value, "it is above autograd"
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::mm", "AutocastCPU")
    assert not has_kernel("aten::add.Tensor", "AutocastCPU")
    rows = torch._C._dispatch_dump_table("aten::add.Tensor").splitlines()
    assert "fallthrough" in next(row for row in rows if row.startswith("AutocastCPU:"))


def check(trace):
    """Which kernels ran under each of the modes."""
    mm = "aten::mm"
    assert_subsequence(
        trace,
        [
            call(mm, "AutogradCPU"),
            node_created("MmBackward0"),
            redispatch(mm, "CPU"),
            call(mm, "AutogradCPU"),
            redispatch(mm, "CPU"),
            call(mm, "CPU"),
            call(mm, "AutocastCPU"),
            call(mm, "AutogradCPU"),
            node_created("MmBackward0"),
            redispatch(mm, "CPU"),
        ],
    )
    assert_count(trace, node_created("MmBackward0"), 2)
