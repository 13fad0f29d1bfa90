# # How three muls share one kernel
#
# `torch.mul(x, y)` makes a tensor, `x.mul_(y)` writes into `x`, `out=` fills a tensor that is
# given. That is three kernels on each device, and all have to check the same things and compute
# the same numbers. Who writes them, and where do they differ?

import torch

x = torch.ones(2, 2)
y = torch.full((2,), 3.0)
z = torch.mul(x, y)
x.mul_(y)
out = torch.empty(0)
torch.mul(x, y, out=out)

# ## Predict
#
# Look at the program again. Which lines need memory that is not there yet, and when can its size
# be known: `y` has two numbers, `x` has four?
#
# predict: cell of mul at CPU
# Nobody wrote `wrapper_CPU_mul_Tensor`. The generator did, because the entry of `mul` in
# native_functions.yaml says `structured_delegate: mul.out`. `v` shows the text of it.
#
# ## Run
#
# stop: event MetaEntered in `z =`
# The first of two functions that a person wrote, once for all devices. It checks what it is given
# and finds shape and dtype of the result: here `y` is broadcast to two rows. It computes no
# number.
#
# stop: event OutputAllocated in `z =`
# Meta ends by calling `set_output_raw_strided` with what it found. That is a virtual function, and
# what it does depends on the class that the wrapper made. This one is functional, so it allocates.
#
# stop: event ImplEntered in `z =`
# The second function that a person wrote: `TORCH_IMPL_FUNC(mul_out)`, for CPU and CUDA both. Its
# output is there and has the right size, whoever made it. Nothing is left to do but numbers.
#
# ## Investigate
#
# predict: redispatch mul_ to ADInplaceOrView
# Now `x` is written to, and that has to be counted: so ADInplaceOrView's kernel comes between.
# Below it is a kernel of CPU again, `wrapper_CPU_mul__Tensor`. What is different in that one?
#
# stop: event OutputAllocated in `x.mul_`
# The same meta, and again `set_output_raw_strided`, but of the in-place class: it only checks that
# `x` has the shape, dtype and device that meta wants. `K` has both functions and the three classes.
#
# stop: cell of mul.out at CPU
# `out=` has a kernel of its own, too: it is no `mul` with a copy after it. Of the three entries
# this is the one that says `structured: True`; the other two only point to it.
#
# stop: event OutputAllocated in `out=out`
# The third class takes `out` and makes it larger. Had `out` been of the right size, it would have
# been taken as it is, whatever its strides are: raw means that any strides will do. After this
# comes the same impl for the third time.
#
# ## Modify
#
# Change `x.mul_(y)` to `y.mul_(x)` and run the lesson's file again with `dispatchviz run`: the
# result has four numbers, `y` room for two. Guess first: which of meta, `set_output` and impl
# raises?
#
# ## Make
#
# Write a program that gives `out=` a tensor of two rows and three columns, and one whose dtype is
# int64. One of the two only warns. Which step tells them apart?


def facts():
    """What the prose says of PyTorch."""
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

    # what the generator wrote, where PyTorch ships it
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
        assert "CPU, CUDA, MPS, MTIA: mul_out" in entry["mul.out"], "one impl for both"


def check(trace):
    """One meta and one impl, three ways to get an output."""
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
