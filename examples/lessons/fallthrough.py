# # How does randn find its backend without a tensor?
#
# The keys of a call come from its tensors. `torch.randn(2)` has no tensor, but it returns a CPU
# tensor, or a `meta` one if you ask for it. Something must turn `device=` into a key. That key is
# also in the sets of other calls, where it has no effect. This lesson follows both cases.

import torch

x = torch.randn(2)
m = torch.randn(2, device="meta")
y = torch.ops.aten.randn([2])
z = torch.add(x, y)

# ## Predict
#
# `randn` allocates memory (`empty`) and then fills it in place (`normal_`). Both are calls of
# operators of their own. The first three lines look alike. Do they take the same path?
#
# predict: call randn in `x =`
# BackendSelect is in the thread-local include set by default. No tensor brings a higher key here,
# so nothing above it is left. And `randn` has a kernel for BackendSelect, made for exactly this
# case: a call without tensors that has a `device=`.
#
# predict: call normal_ in `x =`
# `normal_` is an ordinary in-place operator with kernels for autograd and ADInplaceOrView. Both
# are skipped here. Pane 7 shows the reason: the binding `torch.randn` holds a guard around the
# whole call, because a new tensor has no history.
#
# predict: redispatch randn in `m =`
# The kernel for BackendSelect computes a new set from dtype, layout and device, and redispatches
# with it. This is not a mask: the next key was not in the set before.
#
# predict: call normal_ in `y =`
# The operator and the new tensor are the same, but the path is different. `torch.ops` has no
# binding with a guard, so `normal_` begins with autograd, as it does for any tensor. The numbers
# come from the same distribution, but more kernels ran, and the version of `y` was bumped.
#
# ## Run
#
# stop: skipped keys of normal_ in `x =`
# Now look at the other side. BackendSelect is in this set as well, because the thread includes it
# by default. `normal_` has a tensor and needs no kernel for BackendSelect. Its cell contains a
# fallthrough.
#
# ## Investigate
#
# stop: skipped keys of add
# A fallthrough is not a kernel that runs and passes the call on. It never runs. The bit of its key
# is 0 in the mask of `add`, so the key is removed before the highest key is picked. That is why a
# key that every thread includes by default costs nothing.
#
# stop: cell of randn at CPU in `x =`
# BackendSelect is done, and the CPU cell contains a kernel that serves every backend. Each
# operator that it calls must find its own backend. `empty`, for example, has no tensor either.
#
# stop: call empty in `x =`
# So the call goes to BackendSelect a second time, now for `empty`. `device` is still among the
# arguments.
#
# ## Modify
#
# Go to the call of `add` in the last line, press `W`, and let AutogradCPU fall through for it.
# Which key wins then? Is there an error? Here, at `empty`, you can let BackendSelect fall through
# as well. Try it.
#
# ## Make
#
# Call `torch.zeros_like(x)` and `x.new_zeros(2)`: they have both a device and a tensor. Do they
# have a kernel for BackendSelect? Guess first, then look with `dispatchviz run FILE`.


def facts():
    """Check the claims of the prose against PyTorch."""
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
    assert torch.ops.lesson_fallthrough.f(x).tolist() == [2, 2], "the key is skipped"
    rows = torch._C._dispatch_dump_table("lesson_fallthrough::f").splitlines()
    [row] = [each for each in rows if "AutogradCPU" in each]
    assert "fallthrough" in row


def check(trace):
    """Check both paths of randn, and the keys that add skips."""
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
