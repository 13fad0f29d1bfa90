# # Why does a kernel need both a guard and a mask?
#
# An autograd kernel redispatches its call to the backend. Two things keep autograd from running
# twice. The mask removes keys from the one set that is passed on. The guard changes the
# thread-local sets, and so every call that is made inside. If you write a kernel, you must know
# which of the two protects what.

import torch

library = torch.library.Library("shop", "DEF")
library.define("turned(Tensor x) -> Tensor")
library.impl("turned", lambda x: torch.transpose(x, 0, 1), "CPU")

x = torch.ones(2, 3, requires_grad=True)
a = x.t()
b = torch.ops.shop.turned(x)
with torch._C._AutoDispatchBelowAutograd():
    c = torch.ops.shop.turned(x)

# ## Predict
#
# `x.t()` and `shop::turned` do the same thing, and both call `transpose` in the kernel for CPU.
# `t` has an autograd kernel. `turned` has none: it has only the fallback of AutogradCPU, which
# redispatches.
#
# predict: redispatch t to ADInplaceOrView
# The mask `after_autograd_keyset` has removed the autograd keys, and nothing else was computed:
# the dispatcher looks neither at the arguments nor at the thread-local sets. So the next key is
# the highest one that the kernel itself left in the set.
#
# predict: call transpose in `a =`
# This is a new call, so its keys come from the tensor and the thread again, and `x` has
# AutogradCPU. Now the guards matter. The masked set from above does not help here, because it was
# not passed down.
#
# predict: second call transpose
# The autograd fallback masks as well, so `turned` itself has reached the CPU. But the fallback
# enters no guard. The call inside starts at the highest key, as if the program had made it.
#
# predict: third call transpose
# The block enters the guard by hand, for all calls inside. The guard is about autograd alone:
# ADInplaceOrView is not excluded, and `transpose`, a view operator, has a kernel there.
#
# ## Run
#
# stop: guard AutoDispatchBelowAutograd in `a =`
# The guard is active from here until the kernel has its result. Pane 7 shows the thread-local sets
# before and after. Views and in-place operators use this guard, because ADInplaceOrView is still
# to come. Other operators use AutoDispatchBelowADInplaceOrView.
#
# ## Investigate
#
# stop: redispatch t to CPU
# Here is the second mask and the second guard: the kernel for ADInplaceOrView does the same for
# itself.
#
# stop: b's Node
# So autograd recorded a Node for the inner call of `transpose`. The fallback also created one,
# WarnNotImplemented, for results without a history. It is not needed here. The gradient is right,
# though `backward` warns. With a guard, but without a derivative of its own, the gradient would be
# lost.
#
# stop: call turned in `c =`
# This is that case. The guard excludes AutogradCPU for `turned` itself, so not even the fallback
# runs. No Node leads from `c` to `x`: `c.grad_fn` is None.
#
# ## Modify
#
# Go to the line `c = ...` and press `W`: leave out the `with`. What is `c.grad_fn` now? In which
# steps do the lines of `b` and `c` differ?
#
# ## Make
#
# Register a kernel for "Autograd" for `turned` that calls `torch.ops.shop.turned` again, under
# `torch._C._AutoDispatchBelowAutograd()`. Then leave the guard out. What happens, and why?


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_the_fallback()
    facts_of_kernels()
    facts_of_guards_below_autograd()
    facts_of_a_kernel_without_a_guard()


def facts_of_the_fallback():
    """Check that the inner call is recorded without the guard, and not with it."""
    import warnings

    import torch

    key = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set
    seen = []
    library = torch.library.Library("lesson_guards", "DEF")
    library.define("turned(Tensor x) -> Tensor")

    def turned(x):
        seen.append(excluded().has(key.AutogradFunctionality))
        return torch.transpose(x, 0, 1)

    library.impl("turned", turned, "CPU")
    x = torch.ones(2, 3, requires_grad=True)
    before = excluded()
    b = torch.ops.lesson_guards.turned(x)
    assert seen == [False], "autograd's fallback puts up no guard"
    assert type(b.grad_fn).__name__ == "TransposeBackward0", "the Node is of the call inside"
    assert type(x.t().grad_fn).__name__ == "TBackward0", "here it is of the call outside"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        b.sum().backward()
    assert "an autograd kernel was not registered" in str(warned[0].message)
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]], "the gradient is right"

    with torch._C._AutoDispatchBelowAutograd():
        assert excluded().has(key.AutogradFunctionality)
        assert not excluded().has(key.ADInplaceOrView)
        c = torch.ops.lesson_guards.turned(x)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            assert excluded().has(key.ADInplaceOrView)
    assert excluded() == before, "a guard restores what it has changed"
    assert seen == [False, True]
    assert c.grad_fn is None
    x.grad = None
    c.sum().backward()
    assert x.grad is None, "the gradient does not come to x"


def facts_of_kernels():
    """Check which operators have kernels for the two keys."""
    import torch

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::transpose.int", "ADInplaceOrView")
    assert has_kernel("aten::t", "Autograd")
    library = torch.library.Library("lesson_guards_1", "DEF")
    library.define("turned(Tensor x) -> Tensor")
    library.impl("turned", lambda x: torch.transpose(x, 0, 1), "CPU")
    assert not has_kernel("lesson_guards_1::turned", "Autograd")


def facts_of_guards_below_autograd():
    """Check the keys that the thread excludes while autograd's kernel redispatches an operator of PyTorch."""
    import warnings

    import torch

    key = torch._C.DispatchKey

    def seen_below(name, where, result, call):
        found = []
        own = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this kernel overrides PyTorch's meanwhile
            own.impl(name, lambda *args: (found.append(torch._C._dispatch_tls_local_exclude_set()), result)[1], where)
            call()
        own._destroy()
        return found[0].has(key.AutogradFunctionality), found[0].has(key.ADInplaceOrView)

    plain = torch.ones(2, 3)
    assert seen_below("t", "ADInplaceOrView", torch.ones(3, 2), plain.t) == (True, False)
    assert seen_below("neg_", "ADInplaceOrView", plain, plain.neg_) == (True, False)
    assert seen_below("neg", "CPU", torch.ones(2, 3), plain.neg) == (True, True), "no view, not in place"


def facts_of_a_kernel_without_a_guard():
    """Check that this kernel calls itself without end."""
    import torch

    again = torch.library.Library("lesson_guards_2", "DEF")
    again.define("turned(Tensor x) -> Tensor")
    again.impl("turned", lambda x: torch.transpose(x, 0, 1), "CPU")
    depth = []

    def autograd(x):
        depth.append(len(depth))
        assert len(depth) < 3, "without a guard it is called by itself"
        return torch.ops.lesson_guards_2.turned(x)

    again.impl("turned", autograd, "Autograd")
    try:
        torch.ops.lesson_guards_2.turned(torch.ones(2, 3, requires_grad=True))
    except AssertionError:
        assert depth == [0, 1, 2]
    else:
        raise AssertionError("the kernel came to an end")


def check(trace):
    """Check the first key of transpose below each of the three calls."""
    t, turned, transpose = "aten::t", "shop::turned", "aten::transpose.int"
    assert_subsequence(
        trace,
        [
            call(t, "AutogradCPU"),
            redispatch(t, "ADInplaceOrView"),
            redispatch(t, "CPU"),
            call(transpose, "CPU"),
            call(turned, "AutogradCPU"),
            redispatch(turned, "CPU"),
            call(transpose, "AutogradCPU"),
            call(turned, "CPU"),
            call(transpose, "ADInplaceOrView"),
        ],
    )
    assert_count(trace, node_created("TransposeBackward0"), 1)
