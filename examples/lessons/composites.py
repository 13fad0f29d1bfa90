# # Why a backend's kernel switches a composite off
#
# An operator that is made of other operators needs no derivative of its own and runs on every
# device. Then somebody adds a faster kernel for one backend. The numbers stay the same, but the
# gradient on that backend is gone. Why does a kernel for CPU affect autograd?

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
# At first `area` has one kernel, registered for an alias key. It has no kernel for CPU and none
# for autograd. `x` has AutogradCPU, as every ordinary CPU tensor has, so AutogradCPU will win.
# What can its cell contain?
#
# predict: cell of area at AutogradCPU in `a =`
# CompositeImplicitAutograd covers backends and autograd keys. So the composite kernel runs right
# here, in place of an autograd kernel, and there is no other kernel below it.
#
# stop: Node MulBackward0
# The composite kernel enters no guard and does not redispatch. Its `x * x` is an ordinary call
# with all the keys, which records its own Node. `a.grad_fn` is MulBackward0: `area` is not in the
# graph.
#
# ## Run
#
# stop: event CellsRecomputed in `x.detach()`
# One kernel was registered for one key, but two cells have changed: the CPU cell, and the cell of
# the autograd key for CPU. What can the second one contain now?
#
# predict: cell of area at AutogradCPU in `b =`
# The composite is still registered, but it fills an autograd cell only while the cell's backend
# has no kernel of its own. The only candidate after it is the fallback of the key.
#
# stop: Node WarnNotImplemented
# The fallback does not know the derivative of `area`. Look at `b.grad_fn` in pane 6: it has an
# edge to `x`, but no gradient will flow along it.
#
# ## Investigate
#
# predict: cell of area at CPU in `b =`
# Here is the reason for the rule. The composite does not redispatch. If it had stayed in the
# AutogradCPU cell, this kernel would never run: every ordinary CPU tensor has AutogradCPU, which
# comes first. But you register a kernel for a backend because you want it to run.
#
# stop: event CellsRecomputed in `x.detach()`
# This is the registration again. `H` plays all three, and `→` goes on to the last. The autograd
# keys of fifteen backends, among them AutogradCUDA, still have the composite. Only the autograd
# key of the backend with a kernel lost it. So a derivative can exist on one device and not on
# another.
#
# ## Modify
#
# Change "CPU" to "CUDA" in the program and run the file with `dispatchviz run`. Which two cells
# change now, and what is `b.grad_fn`?
#
# ## Make
#
# `matmul` has kernels for CompositeImplicitAutograd and Autograd. Of the backend keys, only
# NestedTensorCPU and its like have kernels. For which tensors does its Autograd kernel run? Guess,
# then look: `dispatchviz table matmul`. What would you have to register for `area`, so that `b`
# has its gradient and CPU its kernel?


def facts():
    """Check the claims of the prose against PyTorch."""
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
    """Check the calls of the operator before and after the registration."""
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
