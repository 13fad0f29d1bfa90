# # Which texts of 2020 are still right?
#
# Many readers learned the dispatcher from a walkthrough of 2020. Much of it still holds, but some
# of it has changed. Judge three of its statements: inside `randn`, `normal_` goes through
# autograd; if nothing requires grad, the autograd kernel will soon not even be called; `vmap`
# slices the batch and calls the operator for each example. At each place `Y` shows the old
# statement, and what PyTorch 2.14 does.

import torch

x = torch.randn(2)
z = torch.add(x, x)
with torch.inference_mode():
    u = torch.add(x, x)
rows = torch.ones(3, 2)
v = torch.vmap(torch.add)(rows, rows)

# ## Predict
#
# predict: call normal_
# In the text of 2020, `normal_` goes through autograd here, because the new tensor has an autograd
# key. It still has that key. But `torch.randn` puts a guard around its call, because a new tensor
# has no history to record. `torch.ops.aten.randn` has no such guard, and there the old text is
# right.
#
# predict: call add in `z =`
# Nothing requires grad, but the plan was never carried out: the kernel runs, and finds nothing to
# record.
#
# ## Run
#
# stop: skipped keys of add in `z =`
# The text adds BackendSelect to the set of `add`, as a global key. There is no global set anymore.
# The thread includes BackendSelect, and the operator's mask removes it before a key is picked. So
# the kernel gets {AutogradCPU, CPU}.
#
# stop: redispatch add to CPU in `z =`
# In the text the kernel calls `at::add` again under a guard, and a set is computed again. Today
# the kernel passes a set, and nothing is computed. The guard is still there, for calls further
# below.
#
# ## Investigate
#
# stop: kernel wrapper_CPU_add_Tensor in `z =`
# The old texts have `native::add` here, registered for CPU and for CUDA. Today `add` is
# structured, and the registered kernel is generated. File names have changed as well:
# VariableTypeEverything.cpp is VariableType_2.cpp for this kernel.
#
# stop: call add in `u =`
# This is how the kernel is skipped today: inference mode excludes the autograd keys. The program
# has to ask for it.
#
# predict: cell of add at FuncTorchBatched
# The text explains vmap as a loop: slice the batch, call the operator for each example, stack the
# results. Today `add` has a batch rule, which adds the whole batch at once. The loop remains for
# operators that have neither a rule nor a decomposition.
#
# ## Modify
#
# Go to the line of `z` and press `W`: run it under `no_grad`. How much of the call changes? Then
# put `torch.ops.aten.randn([2])` into the first line of a copy of the program, and look at
# `normal_` again.
#
# ## Make
#
# Choose a statement from `docs/then_and_now.md` that you believed, and write a program of three
# lines that shows what is true today.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    key, key_set = torch._C.DispatchKey, torch._C.DispatchKeySet
    x = torch.randn(2)
    assert torch._C._dispatch_keys(x).has(key.AutogradCPU)
    assert x._version == 0, "normal_ does not pass ADInplaceOrView, nor autograd above it"
    assert torch.ops.aten.randn([2])._version == 1, "here it does"

    included = torch._C._dispatch_tls_local_include_set()
    excluded = torch._C._dispatch_tls_local_exclude_set()
    assert included.has(key.BackendSelect)
    assert not excluded.has(key.AutogradFunctionality), "so autograd's kernel is called in any case"
    assert not torch._C._dispatch_keys(x).has(key.BackendSelect)
    assert (key_set(key.AutogradCPU) | key_set(key.CPU)).raw_repr() == 0x1000010001
    with torch.inference_mode():
        assert torch._C._dispatch_tls_local_exclude_set().has(key.AutogradFunctionality)
    with torch.no_grad():
        assert torch._C._dispatch_tls_local_exclude_set() == excluded, "no_grad changes no key"

    def row(operator, cell):
        rows = torch._C._dispatch_dump_table(operator).splitlines()
        return next(text for text in rows if text.startswith(f"{cell}:"))

    assert "fallthrough" in row("aten::add.Tensor", "BackendSelect")
    assert "build/aten/src/ATen/RegisterCPU_0.cpp" in row("aten::add.Tensor", "CPU"), "generated"
    assert "VariableType_2.cpp" in row("aten::add.Tensor", "AutogradCPU")
    assert "BatchRulesBinaryOps.cpp" in row("aten::add.Tensor", "FuncTorchBatched")
    assert "[backend fallback]" in row("aten::histc", "FuncTorchBatched"), "the loop"


def check(trace):
    """Check the old statements against this program."""
    from dispatchviz.core.record import events as ev

    add = "aten::add.Tensor"
    assert_count(trace, call("aten::normal_", "CPU"), 1)
    assert_subsequence(
        trace,
        [
            call(add, "AutogradCPU"),
            event(ev.FallthroughSkipped),
            event(ev.NoNodeMade, why="no input requires grad"),
            redispatch(add, "CPU"),
            event(ev.KernelEntered, kernel="wrapper_CPU_add_Tensor", key_set=0x10001),
            event(ev.ImplEntered, function="structured_ufunc_add_CPU::impl"),
            call(add, "CPU"),
            kernel(under="FuncTorchBatched", operator=add),
            redispatch(add, "CPU"),
        ],
    )
    entered = event(ev.KernelEntered, kernel="VariableType::add_Tensor", key_set=0x1000010001)
    assert_count(trace, entered, 2)
    assert_count(trace, event(ev.ImplEntered, function="structured_ufunc_add_CPU::impl"), 3)
