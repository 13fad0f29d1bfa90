# # Why a backend's kernel switches a composite off
#
# An operator that is made of other operators needs no derivative of its own and runs on every
# device. Then somebody adds a faster kernel for one backend. The numbers stay the same, and yet
# the gradient is gone there. What has the kernel of CPU to do with autograd?

import torch

library = torch.library.Library("lesson", "DEF")
library.define("area(Tensor x) -> Tensor")
library.impl("area", lambda x: x * x, "CompositeImplicitAutograd")
x = torch.tensor([3.0], requires_grad=True)
a = torch.ops.lesson.area(x)
library.impl("area", lambda x: x.detach() * x.detach(), "CPU")
b = torch.ops.lesson.area(x)

# ## Predict
#
# `area` has one kernel at first, under an alias key. No kernel for CPU, none for autograd. `x`
# requires grad, so AutogradCPU will win. What can its cell hold?
#
# predict: cell of area at AutogradCPU in `a =`
# CompositeImplicitAutograd covers backends and autograd keys both. So the composite runs right
# here, in the place of an autograd kernel, and has no other below it.
#
# stop: Node MulBackward0
# The composite puts up no guard and hands nothing on. Its `x * x` is an ordinary call with all the
# keys, which makes its own Node. `a.grad_fn` is MulBackward0: in the graph there is no `area`.
#
# ## Run
#
# stop: event CellsRecomputed in `x.detach()`
# One kernel was registered for one key, and two cells have changed: that of CPU, and that of the
# autograd key which belongs to CPU. What can be in the second one now?
#
# predict: cell of area at AutogradCPU in `b =`
# The composite is still registered, but it fills an autograd cell only while the cell's backend
# has no kernel of its own. Nothing comes after it here but the fallback of the key.
#
# stop: Node WarnNotImplemented
# The fallback does not know the derivative of `area`. Look at `b.grad_fn` in pane 6: it has an
# edge to `x`, over which no gradient will go.
#
# ## Investigate
#
# predict: cell of area at CPU in `b =`
# Here is the reason for the rule. The composite hands nothing on. Had it stayed in the cell of
# AutogradCPU, this kernel would never be reached: every ordinary CPU tensor has AutogradCPU, and
# that comes first. Whoever writes a kernel for a backend wants it to run.
#
# stop: event CellsRecomputed in `x.detach()`
# Back at the registration: `H` plays all three, `→` goes on to the last. The autograd keys of
# fifteen backends hold the composite as before, AutogradCUDA among them: only that of the backend
# with a kernel was given up. So a derivative can be there on one device and not on another.
#
# ## Modify
#
# Change "CPU" to "CUDA" in the program and run the file with `dispatchviz run`. Which two cells
# change now, and what is `b.grad_fn`?
#
# ## Make
#
# `matmul` has kernels at CompositeImplicitAutograd and at Autograd, and of the backends' keys at
# NestedTensorCPU and its like. For which tensors does its kernel at Autograd run? Guess, then look:
# `dispatchviz table matmul`. What would you have to register for `area`, so that `b` has its
# gradient and CPU its kernel?


def facts():
    """What the prose says of PyTorch."""
    import warnings

    import torch

    def cells(operator):
        rows = torch._C._dispatch_dump_table(operator).splitlines()
        return {row.partition(":")[0]: row.rpartition("[")[2].rstrip("]") for row in rows}

    def changed(operator, register):
        before = torch._C._dispatch_dump_table(operator).splitlines()
        register()
        after = torch._C._dispatch_dump_table(operator).splitlines()
        return {row.partition(":")[0] for row in set(before) ^ set(after)}

    library = torch.library.Library("lesson_facts", "DEF")
    name = "lesson_facts::area"
    ran = []
    library.define("area(Tensor x) -> Tensor")
    library.impl("area", lambda x: x * x, "CompositeImplicitAutograd")
    assert cells(name)["AutogradCPU"] == cells(name)["CPU"] == "math kernel", "backends and autograd keys both"
    x = torch.tensor([3.0], requires_grad=True)
    assert type(torch.ops.lesson_facts.area(x).grad_fn).__name__ == "MulBackward0"

    meta = torch.library.Library("lesson_facts", "IMPL")

    def kernel(x):
        ran.append("kernel")
        return x.detach() * x.detach()

    assert changed(name, lambda: meta.impl("area", kernel, "CUDA")) == {"CUDA", "AutogradCUDA"}
    assert type(torch.ops.lesson_facts.area(x).grad_fn).__name__ == "MulBackward0", "CPU is not concerned"
    meta._destroy()
    assert cells(name)["AutogradCUDA"] == "math kernel"

    assert changed(name, lambda: library.impl("area", kernel, "CPU")) == {"CPU", "AutogradCPU"}
    assert (cells(name)["CPU"], cells(name)["AutogradCPU"]) == ("kernel", "backend fallback")
    others = ("AutogradOther", "AutogradNestedTensor")
    backends = [why for key, why in cells(name).items() if key.startswith("Autograd") and key not in others]
    assert backends.count("math kernel") == 15, "still the composite"
    assert cells(name)["AutogradCUDA"] == "math kernel"
    b = torch.ops.lesson_facts.area(x)
    assert b.tolist() == [9]
    assert ran == ["kernel"]
    assert [type(node).__name__ for node, _ in b.grad_fn.next_functions] == ["AccumulateGrad"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b.backward()
    assert x.grad is None, "no gradient goes over the edge"

    matmul, has_kernel = cells("aten::matmul"), torch._C._dispatch_has_kernel_for_dispatch_key
    assert all(has_kernel("aten::matmul", key) for key in ("CompositeImplicitAutograd", "Autograd", "NestedTensorCPU"))
    assert not any(has_kernel("aten::matmul", key) for key in ("CPU", "CUDA", "AutogradCPU"))
    assert matmul["AutogradCPU"] == matmul["AutogradCUDA"] == "math kernel"
    assert matmul["AutogradNestedTensor"] == "autograd kernel"


def check(trace):
    """The same operator, before and after."""
    from dispatchviz.core.record.events import CellsRecomputed

    area = "lesson::area"
    assert_subsequence(
        trace,
        [
            event(CellsRecomputed, operator=area),
            call(area, "AutogradCPU"),
            call("aten::mul.Tensor", "AutogradCPU"),
            node_created("MulBackward0"),
            event(CellsRecomputed, operator=area, cells=lambda cells: len(cells) == 2),
            kernel("autograd_fallback", under="AutogradCPU"),
            redispatch(area, "CPU"),
        ],
    )
    assert_count(trace, redispatch(area), 1)
