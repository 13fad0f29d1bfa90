# # How three muls share one kernel
#
# `torch.mul(x, y)` creates a tensor, `x.mul_(y)` writes into `x`, and `out=` fills a given tensor.
# These are three kernels on each device, but all must check the same things and compute the same
# numbers. Who writes them, and where do they differ?

import torch

x = torch.ones(2, 2)
y = torch.full((2,), 3.0)
z = torch.mul(x, y)
x.mul_(y)
out = torch.empty(0)
torch.mul(x, y, out=out)

# ## Predict
#
# Look at the program again. Which lines need memory that does not exist yet, and when is its size
# known, given that `y` has two numbers and `x` has four?
#
# predict: cell of mul at CPU
# `wrapper_CPU_mul_Tensor` was not written by hand. The generator wrote it, because the entry of
# `mul` in native_functions.yaml says `structured_delegate: mul.out`. `v` shows its text.
#
# ## Run
#
# stop: event MetaEntered in `z =`
# This is the first of two functions that a person wrote, once for all devices. It checks its
# arguments and computes shape and dtype of the result. Here `y` is broadcast to two rows. It
# computes no numbers.
#
# stop: event OutputAllocated in `z =`
# Meta ends by calling `set_output_raw_strided` with these properties. That is a virtual function,
# which depends on the class that the wrapper created. This class is functional, so it allocates.
#
# stop: event ImplEntered in `z =`
# This is the second function that a person wrote: `TORCH_IMPL_FUNC(mul_out)`, for both CPU and
# CUDA. Its output exists and has the right size, regardless of who created it. Only the numbers
# are left to compute.
#
# ## Investigate
#
# predict: redispatch mul_ to ADInplaceOrView
# Now `x` is written to, and its version must be bumped. So the kernel for ADInplaceOrView runs in
# between. Below it is a kernel for CPU again, `wrapper_CPU_mul__Tensor`. How does it differ from
# the first one?
#
# stop: event OutputAllocated in `x.mul_`
# Meta is the same, and it calls `set_output_raw_strided` again, but that of the in-place class,
# which only checks that `x` has the shape, dtype and device that meta wants. `K` shows both
# functions and the three classes.
#
# stop: cell of mul.out at CPU
# `out=` has a kernel of its own, too: it is not a `mul` followed by a copy. This is the one of the
# three entries that says `structured: True`; the other two only point to it.
#
# stop: event OutputAllocated in `out=out`
# The third class takes `out` and makes it larger. If `out` had the right size, it would be used as
# it is, with any strides: that is what raw means. Then the same impl runs for the third time.
#
# ## Modify
#
# Change `x.mul_(y)` to `y.mul_(x)` and run the lesson's file again with `dispatchviz run`. The
# result has four numbers, but `y` has space for two. Guess first: which of meta, `set_output` and
# impl raises?
#
# ## Make
#
# Write a program that passes to `out=` a tensor of two rows and three columns, and then one whose
# dtype is int64. One of the two only warns. Which step handles them differently?


def facts():
    """Check the claims of the prose against PyTorch."""
    import warnings
    from pathlib import Path

    import torch

    def raised(function):
        try:
            function()
        except RuntimeError as error:
            return str(error)
        raise AssertionError("nothing is raised")

    for operator in ("aten::mul.Tensor", "aten::mul_.Tensor", "aten::mul.out"):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(operator, "CPU"), "a kernel each"
    x, y = torch.ones(2, 2), torch.full((2,), 3.0)
    z = torch.mul(x, y)
    assert z.data_ptr() != x.data_ptr(), "functional allocates"
    assert z.shape == (2, 2), "broadcast"
    where = x.data_ptr()
    assert x.mul_(y) is x
    assert x.data_ptr() == where, "in-place allocates nothing"
    out = torch.empty(0)
    assert torch.mul(x, y, out=out) is out
    assert out.shape == (2, 2), "made larger"
    fits = torch.empty(2, 2).t()
    where = fits.data_ptr()
    torch.mul(x, y, out=fits)
    assert fits.data_ptr() == where, "taken as it is"
    assert fits.stride() == (1, 2), "any strides will do"
    assert "doesn't match the broadcast shape [2, 2]" in raised(lambda: y.mul_(x))
    wrong = torch.empty(0, dtype=torch.int64)
    assert "can't be cast" in raised(lambda: torch.mul(x, y, out=wrong))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.mul(x, y, out=torch.empty(2, 3))
    assert "was resized since it had shape [2, 3]" in str(caught[0].message)

    # the generated code, if this PyTorch ships it
    headers = Path(torch.__file__).parent / "include" / "ATen" / "ops"
    if headers.is_dir():
        meta, native = (headers / f"mul_{name}.h" for name in ("meta", "native"))
        assert "structured_mul_Tensor : public TensorIteratorBase" in meta.read_text()
        assert "structured_mul_out : public at::meta::structured_mul_Tensor" in native.read_text()
    entries = Path(torch.__file__).parents[1] / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    if entries.is_file():
        text = entries.read_text()
        entry = {name: text.split(f"- func: {name}(")[1].split("- func:")[0] for name in ("mul.Tensor", "mul.out")}
        assert "structured_delegate: mul.out" in entry["mul.Tensor"]
        assert "structured: True" in entry["mul.out"]
        assert "CPU, CUDA, MPS, MTIA, XPU: mul_out" in entry["mul.out"], "one impl for both"


def check(trace):
    """Check that one meta and one impl serve three ways to get an output."""
    from dispatchviz.core.record.events import ImplEntered, MetaEntered, OutputAllocated

    for variant, operator in (("functional", "mul.Tensor"), ("in-place", "mul_.Tensor"), ("out", "mul.out")):
        assert_subsequence(
            trace,
            [
                redispatch(f"aten::{operator}", "CPU"),
                event(MetaEntered, function="structured_mul_Tensor::meta"),
                event(OutputAllocated, variant=variant, method="set_output_raw_strided"),
                event(ImplEntered, function="structured_mul_out::impl"),
            ],
        )
    assert_count(trace, event(OutputAllocated, resized=True), 1)
