# # How does one registration fill many cells?
#
# Each operator has a table of 137 cells, a cell for each key that a call can go to. Nobody
# registers so many kernels. Most cells are filled by alias keys: one registration that stands for a
# group. Whoever writes an operator chooses between them, and with the wrong choice a gradient is
# lost. Four operators, the cells of each filled in another way:

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
# A call looks into one cell, and the cell has been filled long before. The question is by which
# registration. Guess from what the operator is: does somebody have to write its derivative?
#
# predict: cell of matmul at AutogradCPU
# The same kernel is in the CPU's cell. So autograd and backend are no two layers here: there is one
# kernel, and what it calls begins again at the top. "Implicit" is said of that: gradients come
# without anybody's writing them.
#
# predict: cell of mm at AutogradCPU
# Here `matmul` calls `mm`, and for `mm` somebody wrote a derivative. So there is a kernel that
# makes the Node, whatever the device: one registration for 18 keys. The numbers are left to another
# one.
#
# predict: cell of sum at CPU
# The third alias key. It fills the cells of backends and leaves those of autograd alone. Gradients
# need a kernel of their own there, which `sum` has: autograd is explicit.
#
# predict: cell of twice at AutogradCPU
# The last resort before a cell stays empty. The fallback lets the call through, so `c` has its
# numbers. It knows no derivative. Which Node there is depends on what the kernel below does.
#
# ## Run
#
# stop: cell of mm at CPU
# The plain case: registered for CPU itself. It comes before everything else, so a backend can
# always put its own kernel in front of a shared one.
#
# ## Investigate
#
# stop: cell of matmul at AutogradCPU
# Pane 3 has every key that this cell could have been filled from, in the order in which they are
# asked. The first that has a kernel gives it. One of them has a condition: with a kernel for CPU
# alone, CompositeImplicitAutograd would be passed over for AutogradCPU, and the derivative with it.
#
# stop: cell of sum at CPU
# Press `T` for the whole table of `sum`. Count how many registrations fill it, and how many cells
# come from CompositeExplicitAutograd. That alias stands for 69 keys, CompositeImplicitAutograd for
# 103, Autograd for 18.
#
# ## Modify
#
# Stay at this cell, press `W`, and let a Python function be in the CPU cell of `sum`. Which reason
# does the cell give now? Is the kernel of the alias key gone?
#
# ## Make
#
# Register `twice` to CompositeImplicitAutograd instead of CPU. Which cells does it fill? Call
# `backward` on `c.sum()` both ways, and compare `x.grad` and the Nodes.


def facts():
    """What the prose says of PyTorch."""
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
        dense = {1, 5, 8, 9, 10, 21, 47}  # the names of groups of keys, which are no keys of a cell
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
    assert "[backend fallback]" in after["AutogradCPU"], "the backend has a kernel: the alias is passed over"
    assert "[math kernel]" in after["AutogradCUDA"]


def check(trace):
    """Where the kernels of the four cells come from."""
    assert_subsequence(
        trace,
        [
            kernel("wrapper_CompositeImplicitAutograd__matmul", under="AutogradCPU"),
            kernel("VariableType::mm", under="AutogradCPU"),
            kernel("wrapper_CPU_mm", under="CPU"),
            node_created("SumBackward0"),
            kernel("wrapper_CompositeExplicitAutograd__sum", under="CPU"),
            kernel("autograd_fallback", under="AutogradCPU", operator="shop::twice"),
        ],
    )
