# # How does randn find its backend without a tensor?
#
# The keys of a call come from its tensors. `torch.randn(2)` has none, and still a CPU tensor comes
# out, or a `meta` one if one asks for it. Something must turn `device=` into a key. The same key is
# in the sets of other calls, too, and not seen there. This lesson follows it both ways.

import torch

x = torch.randn(2)
m = torch.randn(2, device="meta")
y = torch.ops.aten.randn([2])
z = torch.add(x, y)

# ## Predict
#
# `randn` makes memory (`empty`) and then fills it in place (`normal_`). Both are calls of operators
# of their own. The first three lines look alike: do they go the same way?
#
# predict: call randn in `x =`
# A thread includes BackendSelect by default. Here nothing above it is left: there is no tensor that
# could bring a higher key. And `randn` has a kernel there, made for just this: a call without
# tensors that has a `device=`.
#
# predict: call normal_ in `x =`
# `normal_` is an ordinary in-place operator, with kernels of autograd and ADInplaceOrView. Both are
# passed by here. Pane 7 has the reason: the binding `torch.randn` holds a guard around all of it,
# as a new tensor has no history.
#
# predict: redispatch randn in `m =`
# The kernel of BackendSelect makes a new set, from dtype, layout and device, and hands on with it.
# This is no mask: the key that comes next was not in the set before.
#
# predict: call normal_ in `y =`
# The same operator, the same new tensor, another way. `torch.ops` has no binding with a guard, so
# `normal_` begins with autograd, as for any tensor. The numbers are the same kind of numbers, but
# it took more kernels, and the version of `y` has been counted.
#
# ## Run
#
# stop: skipped keys of normal_ in `x =`
# Now the other side. BackendSelect is in this set as well: the thread includes it by default.
# `normal_` has a tensor and needs no such kernel. Its cell holds a fallthrough.
#
# ## Investigate
#
# stop: skipped keys of add
# A fallthrough is no kernel that runs and passes the call on. It never runs: the bit of its key is
# 0 in the mask of `add`, so the key is gone before the highest one is picked. That is why a default
# that is included in every thread costs nothing.
#
# stop: cell of randn at CPU in `x =`
# BackendSelect is behind us, and the CPU's cell holds a kernel that serves every backend. What it
# calls must find its own way: `empty`, for example, has no tensor either.
#
# stop: call empty in `x =`
# So BackendSelect is asked a second time, now for `empty`. `device` is still among the arguments.
#
# ## Modify
#
# Go to the call of `add` in the last line, press `W`, and let AutogradCPU fall through for it.
# Which key wins then? Is there an error? Here, at `empty`, BackendSelect may fall through as well:
# try it.
#
# ## Make
#
# Call `torch.zeros_like(x)` and `x.new_zeros(2)`: they have a device and a tensor. Is there a
# kernel of BackendSelect for them? Guess first, then look with `dispatchviz run FILE`.


def facts():
    """What the prose says of PyTorch."""
    import torch

    key = torch._C.DispatchKey
    included, has_kernel = torch._C._dispatch_tls_local_include_set, torch._C._dispatch_has_kernel_for_dispatch_key
    assert included().has(key.BackendSelect), "by default"
    assert torch.randn(2).device.type == "cpu"
    assert torch.randn(2, device="meta").device.type == "meta"
    assert has_kernel("aten::randn", "BackendSelect")
    assert has_kernel("aten::empty.memory_format", "BackendSelect")
    for other in ("aten::normal_", "aten::add.Tensor", "aten::zeros_like", "aten::new_zeros"):
        assert not has_kernel(other, "BackendSelect")
        rows = torch._C._dispatch_dump_table(other).splitlines()
        [row] = [each for each in rows if each.startswith("BackendSelect:")]
        assert "fallthrough" in row
        assert "[backend fallback]" in row
    assert has_kernel("aten::normal_", "Autograd")
    assert has_kernel("aten::normal_", "ADInplaceOrView")
    assert has_kernel("aten::randn", "CompositeExplicitAutograd"), "one kernel for every backend"

    assert torch.randn(2)._version == 0, "the binding's guard keeps ADInplaceOrView out"
    assert torch.ops.aten.randn([2])._version == 1, "nothing keeps it out"

    library = torch.library.Library("lesson_fallthrough", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CPU")
    library.impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
    x = torch.ones(2, requires_grad=True)
    assert torch.ops.lesson_fallthrough.f(x).tolist() == [2, 2], "the key is passed by"
    rows = torch._C._dispatch_dump_table("lesson_fallthrough::f").splitlines()
    [row] = [each for each in rows if "AutogradCPU" in each]
    assert "fallthrough" in row


def check(trace):
    """Both ways of randn, and the keys that add skips."""
    randn, normal = "aten::randn", "aten::normal_"
    assert_subsequence(
        trace,
        [
            call(randn, "BackendSelect"),
            redispatch(randn, "CPU"),
            call("aten::empty.memory_format", "BackendSelect"),
            call(normal, "CPU"),
            call(randn, "BackendSelect"),
            redispatch(randn, "Meta"),
            call(randn, "BackendSelect"),
            call(normal, "AutogradCPU"),
            redispatch(normal, "ADInplaceOrView"),
            redispatch(normal, "CPU"),
            call("aten::add.Tensor", "AutogradCPU"),
        ],
    )
    assert_never(trace, kernel(under="BackendSelect", operator="aten::add.Tensor"))
    assert_never(trace, kernel(under="BackendSelect", operator=normal))
