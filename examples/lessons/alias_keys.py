# # How can one registration fill many entries?
#
# Each operator has a dispatch table with 137 entries (cells), one for each key that a call can go
# to. No operator registers that many kernels. Most entries are filled by an alias key: one
# registration that covers a group of keys. If you choose the wrong alias key for your operator,
# you lose a gradient. Here are four operators, each with a different registration:

import torch

x = torch.ones(2, 2, requires_grad=True)
a = torch.matmul(x, x)
b = torch.sum(a)

library = torch.library.Library("shop", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
c = torch.ops.shop.twice(x)

# ## Predict
#
# A call reads one cell, and a registration has filled that cell long before. Guess which one. The
# nature of the operator is a hint: does a person have to write its derivative?
#
# predict: cell of matmul at AutogradCPU
# The CPU cell has the same kernel. So there are no two layers for autograd and backend: one kernel
# serves both, and its inner calls start again at the highest key. This is what "implicit" means:
# the operator gets its gradients from the operators that it calls.
#
# predict: cell of mm at AutogradCPU
# `matmul` calls `mm`, and PyTorch has a formula for the derivative of `mm`. So there is a kernel
# that records the Node on every device: one registration for 18 keys. Another kernel computes the
# numbers.
#
# predict: cell of sum at CPU
# This is the third alias key. It fills the cells of backends and leaves those of autograd alone.
# Gradients need a kernel of their own there, and `sum` has one: its autograd is explicit.
#
# predict: cell of twice at AutogradCPU
# This is the last resort before a cell stays empty. The fallback passes the call on, so `c` gets
# its numbers. It knows no derivative. The kernel below decides which Node is recorded.
#
# ## Run
#
# stop: cell of mm at CPU
# This is the plain case: a kernel registered for CPU itself. It takes precedence over all other
# registrations, so a backend can always replace a shared kernel by its own.
#
# ## Investigate
#
# stop: cell of matmul at AutogradCPU
# Pane 3 lists every key that could have filled this cell, in order of precedence. The first one
# with a kernel fills it. One of them has a condition: if a kernel for CPU were registered as well,
# AutogradCPU would no longer use CompositeImplicitAutograd, and the derivative would be lost.
#
# stop: cell of sum at CPU
# Press `T` to see the whole table of `sum`. Count the registrations that fill it, and the cells
# that come from CompositeExplicitAutograd. That alias covers 69 keys, CompositeImplicitAutograd
# covers 103, and Autograd covers 18.
#
# ## Modify
#
# Stay at this cell, press `W`, and register a Python function in the CPU cell of `sum`. Which
# reason does the cell show now? Is the kernel of the alias key gone?
#
# ## Make
#
# Register `twice` for CompositeImplicitAutograd instead of CPU. Which cells does that fill? Call
# `backward` on `c.sum()` with both versions, and compare `x.grad` and the Nodes.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    def table(operator):
        rows = torch._C._dispatch_dump_table(operator).splitlines()
        return {row.partition(":")[0]: row for row in rows}

    assert len(list(torch._C._dispatch_keyset_to_string(torch._C._dispatch_keyset_full()).split(","))) + 1 == 137
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    matmul, mm, add_up = table("aten::matmul"), table("aten::mm"), table("aten::sum")
    assert "[math kernel]" in matmul["AutogradCPU"]
    assert "[math kernel]" in matmul["CPU"]
    assert has_kernel("aten::matmul", "CompositeImplicitAutograd")
    assert not has_kernel("aten::matmul", "AutogradCPU")
    assert "[autograd kernel]" in mm["AutogradCPU"]
    assert "[autograd kernel]" in mm["AutogradCUDA"]
    assert "[kernel]" in mm["CPU"], "registered for the key itself"
    assert has_kernel("aten::mm", "CPU")
    assert has_kernel("aten::sum", "CompositeExplicitAutograd")
    assert "[default backend kernel]" in add_up["CPU"]
    assert "[autograd kernel]" in add_up["AutogradCPU"]

    def covered(alias):
        is_in, key = torch._C._dispatch_is_included_in_alias, torch._C.DispatchKey
        runtime = [number for number in range(1, 150) if "Undefined" not in torch._C._dispatch_key_name(key(number))]
        dense = {1, 5, 8, 9, 10, 21, 47}  # names of groups of keys, which have no cells
        return sum(is_in(key(number), alias) for number in runtime if number not in dense)

    key = torch._C.DispatchKey
    assert covered(key.CompositeExplicitAutograd) == 69
    assert covered(key.CompositeImplicitAutograd) == 103
    assert covered(key.Autograd) == 18

    x = torch.ones(2, 2, requires_grad=True)
    assert type(torch.matmul(x, x).grad_fn).__name__ == "MmBackward0", "the inner call makes the Node"
    library = torch.library.Library("lesson_alias", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
    before = table("lesson_alias::f")
    assert "[math kernel]" in before["AutogradCPU"]
    assert "[math kernel]" in before["AutogradCUDA"]
    library.impl("f", lambda x: x * 3, "CPU")
    after = table("lesson_alias::f")
    assert "[kernel]" in after["CPU"], "the key's own kernel comes first"
    assert "[backend fallback]" in after["AutogradCPU"], "the backend has a kernel, so the alias is skipped"
    assert "[math kernel]" in after["AutogradCUDA"]


def check(trace):
    """Check which registrations fill the four cells."""
    assert_subsequence(
        trace,
        [
            kernel("wrapper_CompositeImplicitAutograd__matmul", under="AutogradCPU"),
            kernel("VariableType::mm", under="AutogradCPU"),
            kernel("wrapper_CPU_mm", under="CPU"),
            kernel("wrapper_CompositeExplicitAutograd__sum", under="CPU"),
            kernel("autograd_fallback", under="AutogradCPU", operator="shop::twice"),
        ],
    )
    assert_count(trace, node_created("SumBackward0"), 1)
