"""Fifteen tests of a library's dispatches, which pass on the model and on an installed PyTorch.

pytest examples/library --dispatchviz-engine=model
pytest examples/library --dispatchviz-engine=torch
"""

import blend
import torch

from dispatchviz.testing import (
    accumulated,
    assert_count,
    assert_golden,
    assert_kernel_ran,
    assert_never,
    assert_subsequence,
    call,
    graph,
    hook_order,
    kernel,
    keys,
    node_created,
    node_order,
    redispatch,
    redispatches_to,
)

mix, same = torch.ops.blend.mix, torch.ops.blend.same
MIX_NODE = "GeneratedBackwardFor_blend_mix_default"


def leaves():
    return torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)


# -- kernels and keys


def test_call_goes_from_autograd_to_the_cpu(dispatch_trace):
    x, y = leaves()
    mix(x, y, 0.25)

    assert redispatches_to(dispatch_trace, mix, "CPU")
    assert_subsequence(dispatch_trace, [call(mix, "AutogradCPU"), redispatch(mix, "CPU"), call("aten::mul.Tensor")])


def test_cpu_kernel_is_ours(dispatch_trace):
    mix(torch.ones(3), torch.zeros(3), 0.25)

    assert_kernel_ran(dispatch_trace, "mix_cpu", under="CPU")
    assert_never(dispatch_trace, kernel("mix_toy"))


def test_lambda_counts_equal_elements(dispatch_trace):
    same(torch.ones(3), torch.ones(3))

    assert_count(dispatch_trace, kernel("<lambda>", under="CPU"), 1)


def test_meta_tensor_reaches_the_fake_kernel(dispatch_trace):
    mix(torch.ones(3, device="meta"), torch.ones(3, device="meta"), 0.25)

    assert keys(dispatch_trace, mix) == "AutogradMeta → Meta"
    assert_never(dispatch_trace, kernel("mix_cpu"))


def test_inference_mode_skips_autograd(dispatch_trace):
    with torch.inference_mode():
        mix(torch.ones(3), torch.zeros(3), 0.25)

    assert keys(dispatch_trace, mix) == "CPU"


# -- the derivative


def test_gradient_reaches_both_leaves(dispatch_trace):
    x, y = leaves()
    mix(x, y, 0.25).sum().backward()

    assert graph(dispatch_trace) == f"Sum → {MIX_NODE} → (AccumulateGrad(x), AccumulateGrad(y))"


def test_engine_runs_our_node_after_that_of_sum(dispatch_trace):
    x, y = leaves()
    mix(x, y, 0.25).sum().backward()

    assert node_order(dispatch_trace) == f"Sum, {MIX_NODE}, AccumulateGrad(x), AccumulateGrad(y)"


def test_hook_sees_the_gradient_before_our_node(dispatch_trace):
    def halve(gradient):
        return gradient / 2

    x, y = leaves()
    mixed = mix(x, y, 0.25)
    mixed.register_hook(halve)
    mixed.sum().backward()

    assert hook_order(dispatch_trace) == "halve"
    assert x.grad.tolist() == [0.125] * 3


def test_new_gradients_are_stolen(dispatch_trace):
    x, y = leaves()
    mix(x, y, 0.25).sum().backward()

    assert_count(dispatch_trace, accumulated("stolen"), 2)


def test_no_grad_creates_no_node(dispatch_trace):
    x, y = leaves()
    with torch.no_grad():
        mix(x, y, 0.25)

    assert keys(dispatch_trace, mix) == "AutogradCPU → CPU"
    assert_never(dispatch_trace, node_created())


# -- the fallthrough, and an operator that writes


def test_fallthrough_removes_autograd_from_the_call(dispatch_trace):
    x, y = leaves()
    same(x, y)

    assert keys(dispatch_trace, same) == "CPU"
    assert_never(dispatch_trace, node_created(), within=call(same))


def test_write_goes_through_adinplaceorview(dispatch_trace):
    blend.fill_(torch.ones(3), 2.0)

    assert redispatches_to(dispatch_trace, blend.fill_, "ADInplaceOrView", "CPU")
    assert_subsequence(dispatch_trace, [call(blend.fill_), call("aten::fill_.Scalar")])


# -- the device


def test_device_has_its_own_kernel(dispatch_trace):
    x, y = blend.OnToy(torch.ones(3)), blend.OnToy(torch.zeros(3))
    mixed = mix(x, y, 0.25)

    assert str(mixed.device) == "toy:0"
    assert_kernel_ran(dispatch_trace, "mix_toy", under="PrivateUse1")
    assert_never(dispatch_trace, kernel("mix_cpu"))


def test_call_on_the_device_passes_the_subclass(dispatch_trace):
    x, y = blend.OnToy(torch.ones(3)), blend.OnToy(torch.zeros(3))
    mix(x, y, 0.25)

    assert keys(dispatch_trace, mix) == "PythonTLSSnapshot → AutogradPrivateUse1 → Python; PrivateUse1"


# -- all of it as text


def test_log_has_only_our_own_calls(dispatch_trace):
    x, y = leaves()
    mixed = mix(x, y, 0.25)
    same(mixed, y)
    mixed.sum().backward()

    assert_golden(dispatch_trace, "golden/mix.log", level="calls")
