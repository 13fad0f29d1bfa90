# # What do no_grad, inference mode and autocast change?
#
# All three are a `with` around a line, and all three change the result. They work in different
# ways, so they differ in what they save, and in what you can switch back inside. The program
# computes the same matrix product four times: plain, and once under each mode.

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
# `y = torch.mm(x, w)` begins with AutogradCPU. Its kernel creates a Node, because `w` requires
# grad, and the kernel for CPU computes. What comes first under `no_grad`? And under the other two?
#
# predict: call mm in `silent =`
# Nothing has changed. `no_grad` is a flag of the thread, not a key set. The autograd kernel is
# chosen as before, and only then does it check the flag.
#
# predict: event NoNodeMade in `silent =`
# This check is all that `no_grad` does. Then the kernel enters its guard and redispatches, as if
# no input required grad. `silent` is an ordinary tensor: autograd may record later calls with it.
#
# predict: call mm in `bare =`
# Inference mode works on key sets. The autograd keys are in the thread-local exclude set, so their
# kernel does not run at all: each call saves one kernel. In return, the result never gets these
# keys.
#
# predict: call mm in `half =`
# Autocast removes a key from the exclude set. The tensors had AutocastCPU all the time, but every
# thread excludes it by default. It is above autograd, so it comes first.
#
# ## Run
#
# stop: call mm at AutogradCPU in `half =`
# The kernel for autocast has cast both arguments and called `mm` again from the highest key, with
# itself excluded. So autograd gets bfloat16 arguments, and the casts are in the graph, too. The
# gradient of `w` comes back as float32.
#
# ## Investigate
#
# stop: event GradModeChanged
# Pane 7 shows the thread-local state: two key sets, and flags beside them. Only the flag of grad
# mode has changed.
#
# stop: guard InferenceMode
# Here the sets change, as under any guard, and the flags change as well.
#
# stop: event AutocastChanged
# One key leaves the exclude set. It depends on the operator whether there is a kernel for
# AutocastCPU: `mm` has one that casts, and `add` has none and falls through.
#
# stop: half's Node
# This is the same Node as in the plain call. Autocast neither switches autograd off nor replaces
# it. It only comes before it.
#
# ## Modify
#
# Go to the line `y = torch.mm(x, w)` and press `W`. Try each of the three there. What is the first
# step at which the two runs differ? Where is it the key set, and where a Node?
#
# ## Make
#
# Put `with torch.enable_grad():` inside `no_grad`, then inside inference mode. In which of the two
# is there a Node? Guess from what each mode has changed.


def facts():
    """Check the claims of the prose against PyTorch."""
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
    """Check which kernels ran under each of the modes."""
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
