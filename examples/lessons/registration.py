# # When is the table of an operator filled?
#
# A call only reads one cell, so the table was filled before. PyTorch does that while it is loaded,
# registration by registration, and every library that is imported later may change cells again. To
# know what an import has changed, one must know what one registration does. An operator of our own
# shows it as events.

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
# The program defines an operator, then registers a kernel three times, to another key each time,
# and calls the operator in between. The three calls are written alike.
#
# predict: cell of twice at AutogradCPU in `a =`
# The operator itself has nothing for autograd here. What fills this cell was registered long before
# the operator was defined, for all operators.
#
# predict: cell of twice at CPU in `b =`
# CPU's own kernel has taken the cell. The one of CompositeExplicitAutograd is still registered, and
# still in the cells of the other backends.
#
# predict: cell of twice at AutogradCPU in `c =`
# The fallback is the last to be asked, so the new kernel takes its place: in this cell, and in
# those of the other autograd keys. That kernel calls no `twice` below it, so CPU's does not run at
# all.
#
# ## Run
#
# stop: event OperatorDefined
# A table is never empty, not even now: the fallbacks of the process are in it at once, 38 of them.
# A key's fallback is registered once and holds for every operator, also for those that come later.
#
# stop: first event CellsRecomputed
# One registration, many cells. A registration computes every cell anew that its key covers, and
# puts the result in. A call never looks for a kernel: it reads what was put there.
#
# ## Investigate
#
# stop: second event CellsRecomputed
# A key with one cell changes one cell. What decides is the key, not the order: register CPU first
# and CompositeExplicitAutograd later, and CPU's kernel is in this cell all the same.
#
# stop: third event CellsRecomputed
# Compare with the two before. An autograd key of a backend that has no fallback had an empty cell
# until now.
#
# stop: call twice in `c =`
# `H` has all registrations of the operator of this step, one after the other. It opens at the
# definition: the 38 before it are the fallbacks, `→` goes on to the kernels of the program. `H` at the
# call of `mul` in `a` shows how an operator of PyTorch came to be, from many files.
#
# ## Modify
#
# Go to the line that registers to "CPU" and press `W`: leave it out. Which kernel does `b` get
# then? After that edit the file: put that line before the one with "CompositeExplicitAutograd". How
# many cells does each of the two change now?
#
# ## Make
#
# Write an operator with one kernel, registered to "CompositeImplicitAutograd". Which cells does it
# change that CompositeExplicitAutograd left as they were? Add one for "CPU": look at AutogradCPU.


def facts():
    """What the prose says of PyTorch."""
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
    """The registrations change the cells that the calls read."""
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
