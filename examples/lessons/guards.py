# # Why does a kernel need both a guard and a mask?
#
# An autograd kernel hands its call on to the backend. Two things keep autograd from seeing it
# twice. The mask takes keys out of the one set that is handed on. The guard changes the thread, and
# with it every call that is made below. Who writes a kernel must know which of the two protects
# what.

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
# `x.t()` and `shop::turned` do the same thing, and both do it by a call of `transpose` in the
# kernel that the CPU's cell holds. For `t` there is an autograd kernel. For `turned` there is none:
# only the fallback of AutogradCPU, which hands on.
#
# predict: redispatch t to ADInplaceOrView
# The mask `after_autograd_keyset` has taken out the autograd keys, and nothing else was done: no
# look at the arguments, none at the thread. So the next key is the highest one that the kernel
# itself has left in.
#
# predict: call transpose in `a =`
# A new call, so the keys come from the tensor and the thread again, and `x` does have AutogradCPU.
# Now the guards count. The set that was masked above is of no use here: nobody hands it down.
#
# predict: second call transpose
# The fallback of autograd masks as well, so `turned` itself has come to the CPU. But it puts up no
# guard. The call inside begins at the top, as if the program had made it.
#
# predict: third call transpose
# The block has put up the guard by hand, for all that is called inside. It is about autograd alone:
# ADInplaceOrView is not excluded, and `transpose`, a view operator, has a kernel there.
#
# ## Run
#
# stop: guard AutoDispatchBelowAutograd in `a =`
# The guard is up from here until the kernel has its result. Pane 7 has the thread's two sets before
# and after. Views and in-place operators get this guard, as ADInplaceOrView is still to come;
# others get AutoDispatchBelowADInplaceOrView.
#
# ## Investigate
#
# stop: redispatch t to CPU
# The second mask, the second guard: ADInplaceOrView's kernel does the same for itself.
#
# stop: b's Node
# So autograd saw the inner call and made a Node, of `transpose`. The fallback has made one, too,
# WarnNotImplemented, for results that come without a history: it is not needed. The gradient is
# right, though `backward` warns. With a guard, but no derivative of its own, it would be lost.
#
# stop: call turned in `c =`
# And this is that case. The guard excludes AutogradCPU for `turned` itself, so not even the
# fallback runs. No Node leads from `c` to `x`: `c.grad_fn` is None.
#
# ## Modify
#
# Go to the line `c = ...` and press `W`: leave out the `with`. What has `c` for a `grad_fn` now?
# Which steps do the lines of `b` and `c` differ in?
#
# ## Make
#
# Register a kernel for "Autograd" to `turned`: it calls `torch.ops.shop.turned` again, under
# `torch._C._AutoDispatchBelowAutograd()`. Leave the guard out once. What happens, and why?


def facts():
    """What the prose says of PyTorch."""
    facts_of_the_fallback()
    facts_of_kernels()
    facts_of_guards_below_autograd()
    facts_of_a_kernel_without_a_guard()


def facts_of_the_fallback():
    """Without the guard the inner call is recorded, with it nothing is."""
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
    """Which operators have kernels at the two keys."""
    import torch

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::transpose.int", "ADInplaceOrView")
    assert has_kernel("aten::t", "Autograd")
    library = torch.library.Library("lesson_guards_1", "DEF")
    library.define("turned(Tensor x) -> Tensor")
    library.impl("turned", lambda x: torch.transpose(x, 0, 1), "CPU")
    assert not has_kernel("lesson_guards_1::turned", "Autograd")


def facts_of_guards_below_autograd():
    """What the thread excludes when autograd's kernel redispatches an operator of PyTorch."""
    import warnings

    import torch

    key = torch._C.DispatchKey

    def seen_below(name, where, result, call):
        found = []
        own = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's kernel is overridden while this one is there
            own.impl(name, lambda *args: (found.append(torch._C._dispatch_tls_local_exclude_set()), result)[1], where)
            call()
        own._destroy()
        return found[0].has(key.AutogradFunctionality), found[0].has(key.ADInplaceOrView)

    plain = torch.ones(2, 3)
    assert seen_below("t", "ADInplaceOrView", torch.ones(3, 2), plain.t) == (True, False)
    assert seen_below("neg_", "ADInplaceOrView", plain, plain.neg_) == (True, False)
    assert seen_below("neg", "CPU", torch.ones(2, 3), plain.neg) == (True, True), "no view, not in place"


def facts_of_a_kernel_without_a_guard():
    """It is called by itself, without an end."""
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
    """What transpose begins with, below each of the three."""
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
