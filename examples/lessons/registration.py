# # When is the dispatch table of an operator filled?
#
# A call only reads one entry (cell) of the dispatch table, so the table was filled before. PyTorch
# fills it registration by registration while it is loaded, and every library that is imported
# later may change cells again. To understand the effect of an import, you need to know what one
# registration does. An operator of our own shows this as events.

import torch

library = torch.library.Library("shop", "DEF")
library.define("twice(Tensor x) -> Tensor")
x = torch.ones(2)

library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
a = torch.ops.shop.twice(x)

library.impl("twice", lambda x: x + x, "CPU")
b = torch.ops.shop.twice(x)

library.impl("twice", lambda x: x.clone(), "Autograd")
c = torch.ops.shop.twice(x)

# ## Predict
#
# The program defines an operator, then registers three kernels, each for another key, and calls
# the operator after each registration. The three calls are the same code.
#
# predict: cell of twice at AutogradCPU in `a =`
# The operator itself has no kernel for autograd here. The kernel in this cell was registered long
# before the operator was defined, for all operators.
#
# predict: cell of twice at CPU in `b =`
# CPU's own kernel has taken the cell. The kernel for CompositeExplicitAutograd is still
# registered, and still in the cells of the other backends.
#
# predict: cell of twice at AutogradCPU in `c =`
# The fallback has the lowest precedence, so the new kernel replaces it in this cell and in those
# of the other autograd keys. The new kernel does not call `twice`, so the kernel for CPU does not
# run at all.
#
# ## Run
#
# stop: event OperatorDefined
# A table is never empty, not even now: it has the 38 fallbacks of the process at once. A key's
# fallback is registered once and applies to every operator, also to those that are defined later.
#
# stop: first event CellsRecomputed
# One registration changes many cells. It computes every cell again that its key covers, and stores
# the result. A call never searches for a kernel: it reads the stored one.
#
# ## Investigate
#
# stop: second event CellsRecomputed
# A key with one cell changes one cell. The key decides, not the order: if you register CPU first
# and CompositeExplicitAutograd later, this cell still has CPU's kernel.
#
# stop: third event CellsRecomputed
# Compare this with the two before. An autograd key of a backend without a fallback had an empty
# cell until now.
#
# stop: call twice in `c =`
# `H` shows all registrations of the operator of this step, one after the other. It opens at the
# definition. The 38 registrations before it are the fallbacks, and `→` goes on to the kernels of
# the program. `H` at the call of `mul` in `a` shows how many files register an operator of
# PyTorch.
#
# ## Modify
#
# Go to the line that registers for "CPU" and press `W`: leave it out. Which kernel does `b` get
# then? After that, edit the file: put that line before the one with "CompositeExplicitAutograd".
# How many cells does each of the two change now?
#
# ## Make
#
# Write an operator with one kernel, registered for "CompositeImplicitAutograd". Which cells does
# it change that CompositeExplicitAutograd left unchanged? Add a kernel for "CPU" and look at
# AutogradCPU.


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    def table():
        rows = torch._C._dispatch_dump_table("lesson_registration::f").splitlines()
        return {row.partition(":")[0]: row for row in rows if ":" in row}

    library = torch.library.Library("lesson_registration", "DEF")
    library.define("f(Tensor x) -> Tensor")
    empty = table()
    assert len(empty) == 38, "the fallbacks are there at once"
    assert all("[backend fallback]" in row for row in empty.values())
    assert "AutogradCPU" in empty
    assert "CPU" not in empty
    assert "AutogradIPU" not in empty, "a backend without a fallback for autograd"

    library.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
    shared = table()
    assert "[default backend kernel]" in shared["CPU"]
    assert "[default backend kernel]" in shared["CUDA"]
    assert shared["AutogradCPU"] == empty["AutogradCPU"]
    x = torch.ones(2)
    assert torch.ops.lesson_registration.f(x).tolist() == [2, 2]

    library.impl("f", lambda x: x + 5, "CPU")
    own = table()
    assert {key for key in own if own[key] != shared[key]} == {"CPU"}, "one cell"
    assert torch.ops.lesson_registration.f(x).tolist() == [6, 6]

    library.impl("f", lambda x: x.clone(), "Autograd")
    full = table()
    assert "[autograd kernel]" in full["AutogradCPU"]
    assert "[autograd kernel]" in full["AutogradIPU"]
    assert torch.ops.lesson_registration.f(x).tolist() == [1, 1], "the kernel of CPU is not reached"

    other = torch.library.Library("lesson_registration_2", "DEF")
    other.define("f(Tensor x) -> Tensor")
    other.impl("f", lambda x: x + 5, "CPU")
    other.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
    assert torch.ops.lesson_registration_2.f(x).tolist() == [6, 6], "the key decides, not the order"
    other._destroy()
    assert torch._C._dispatch_dump("lesson_registration_2::f") == "", "its registrations go with it"
    names = [row.partition(":")[0] for row in torch._C._dispatch_dump("aten::mul.Tensor").splitlines()]
    assert {"CPU", "Meta", "Autograd[alias]"} <= set(names), "PyTorch's own operators have many registrations"


def check(trace):
    """Check that the registrations change the cells that the calls read."""
    twice = "shop::twice"
    assert_subsequence(
        trace,
        [
            kernel("autograd_fallback", under="AutogradCPU", operator=twice),
            kernel(under="CPU", operator=twice),
            kernel("autograd_fallback", under="AutogradCPU", operator=twice),
            kernel(under="CPU", operator=twice),
            kernel("<lambda>", under="AutogradCPU", operator=twice),
        ],
    )
    assert_count(trace, kernel(under="CPU", operator=twice), 2)
    changed = [each.cells for each in trace if type(each).__name__ == "CellsRecomputed"]
    assert [len(cells) for cells in changed[:3]] == [70, 1, 18], "69 keys and Undefined; CPU; the autograd keys"
