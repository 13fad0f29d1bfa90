# # Which functions does one add pass through?
#
# Exercise 0 of PyTorch's dispatcher walkthrough sets a breakpoint where two numbers are added, and
# reads the stack. A debug build shows over twenty functions for one `torch.add`. You need not
# learn them by heart. If you know the few jobs that they do, you can read any stack of PyTorch.

import torch

x = torch.ones(2, requires_grad=True)
y = torch.ones(2)
z = torch.add(x, y)
z.sum().backward()

# ## Predict
#
# Write down the jobs on the way from `torch.add` to the loop over the numbers. How often does the
# dispatcher appear?
#
# stop: event BindingEntered in `torch.add`
# The outermost function is a generated binding. It tries its signatures until one fits the Python
# arguments. The first signature of `add` is deprecated and does not fit here.
#
# predict: call add
# A call from C++ or from a binding begins like this: the API `at::Tensor::add`, the operator
# `at::_ops::add_Tensor::call`, the dispatcher. The dispatcher computes the key set and looks up
# the kernel in the operator's table.
#
# ## Run
#
# stop: kernel VariableType::add_Tensor
# Pane 4 has the stack. Press `A`: one row represents the six functions between an operator and its
# kernel, which are the same for all unboxed kernels. Press `A` again to see them all: a handle
# that knows the types, the dispatcher, two functions that call through a pointer, two adapters.
#
# predict: redispatch add to CPU
# The dispatcher is on the stack a second time. It does not compute a key set now, because it is
# given one.
#
# stop: kernel wrapper_CPU_add_Tensor
# Compare the two halves of the stack in pane 4. The second half begins with `at::redispatch::add`
# instead of `at::Tensor::add`. After that it has the same functions for the same jobs. A stack of
# PyTorch repeats this pattern once for each key that has a kernel.
#
# ## Investigate
#
# stop: event ImplEntered in `torch.add`
# This is the walkthrough's breakpoint. The impl calls a stub, the stub picks the code for the
# processor, and that code has the loop. Pane 4 shows these functions below. In a release build a
# debugger finds fewer functions, because many are inlined. `docs/lists/backtraces.md` shows both side by
# side.
#
# stop: run SumBackward0
# Here the stack has another beginning: the engine instead of the binding. The engine's functions
# are on the stack of every Node.
#
# stop: call expand
# A formula is C++ code, so it calls the operator without a binding. After that, everything is as
# before: the engine has no way of its own to a kernel.
#
# ## Modify
#
# Go to the line of `torch.add` and press `W`. Run it under `no_grad`, and then under
# `inference_mode`. Which of the two makes the stack shorter, and by which functions?
#
# ## Make
#
# Write a program in which `torch.add` passes through three kernels before its numbers are added.
# Look at `torch.autocast` and `torch.vmap` for ideas.


def facts():
    """Check the claims of the prose against PyTorch. tests/explain/test_backtraces.py compares the names of
    functions.
    """
    import warnings

    import torch

    rows = torch._C._dispatch_dump_table("aten::add.Tensor").splitlines()
    table = {row.partition(":")[0]: row for row in rows}
    assert "torch/csrc/autograd/generated/VariableType_" in table["AutogradCPU"]
    assert "RegisterCPU_" in table["CPU"]
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2)
    keys, key = torch._C._dispatch_keys(x), torch._C.DispatchKey
    assert [keys.has(each) for each in (key.AutogradCPU, key.ADInplaceOrView, key.CPU)] == [True] * 3
    assert "fallthrough" in table["ADInplaceOrView"], "so two kernels are left"
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        torch.add(x, 2, y)
    assert "add(Tensor input, Number alpha, Tensor other" in str(issued[0].message), "the deprecated signature"
    with torch.no_grad():
        assert not torch._C._dispatch_tls_local_exclude_set().has(key.AutogradFunctionality)
    with torch.inference_mode():
        assert torch._C._dispatch_tls_local_exclude_set().has(key.AutogradFunctionality), "its kernel is left out"


def check(trace):
    """Check the whole stack at the walkthrough's breakpoint."""
    from dispatchviz.core.record import events as ev
    from dispatchviz.explain.calls.whole_stack import called_below, whole_stack

    within = event(ev.SourceLine, line=11)
    keys = [call("aten::add.Tensor", "AutogradCPU"), redispatch("aten::add.Tensor", "CPU"), event(ev.ImplEntered)]
    assert_subsequence(trace, keys, within=within)
    parsed = event(ev.BindingEntered, function="torch.add", signatures_tried=2, pytorch_function="THPVariable_add")
    assert_count(trace, parsed, 1)
    step = next(each.seq for each in trace if isinstance(each, ev.ImplEntered))
    frames = [frame.title for frame in whole_stack(trace, step)]
    kernels = [frames.index(name) for name in ("VariableType::add_Tensor", "wrapper_CPU_add_Tensor")]
    passed_on = ["c10::KernelFunction::call", "c10::callUnboxedKernelFunction"]
    adapters = ["c10::impl::wrap_kernel_functor_unboxed_::call"]
    adapters += ["c10::impl::detail::WrapFunctionIntoFunctor_::operator()"]
    for kernel_at, how in zip(kernels, ("call", "redispatch"), strict=True):
        operator = [f"at::_ops::add_Tensor::{how}", f"c10::TypedOperatorHandle::{how}", f"c10::Dispatcher::{how}"]
        assert frames[kernel_at - 7 : kernel_at] == [*operator, *passed_on, *adapters]
    assert frames[kernels[0] - 8] == "at::Tensor::add"
    assert frames[kernels[1] - 8] == "at::redispatch::add"
    assert frames[-1] == "structured_ufunc_add_CPU::impl"
    assert len(frames) > 20
    below = [frame.title for frame in called_below(trace, step, whole_stack(trace, step))]
    assert below[0] == "at::native::DispatchStub::operator()"
    assert below[-1] == "at::TensorIteratorBase::for_each"
