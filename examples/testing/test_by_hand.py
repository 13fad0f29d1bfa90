"""Five assertions that PyTorch's contributors write by hand, each in at most three lines.

    pytest examples/testing/test_by_hand.py

By hand, each needs a mode that logs, a hook that appends to a list, or a comparison of pointers. The fixture
``dispatch_trace`` records the model of PyTorch, so the module ``torch`` is the model's.
"""

from dispatchviz import torch
from dispatchviz.testing import (
    assert_kernel_ran,
    assert_never,
    assert_subsequence,
    call,
    hook_order,
    keys,
    no_copy_in_accumulate,
    node_created,
)


def test_linear_is_taken_apart_into_addmm(dispatch_trace):
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    torch.nn.functional.linear(x, weight, bias)

    assert_subsequence(dispatch_trace, [call("aten::linear"), call("aten::t"), call("aten::addmm")])
    assert_never(dispatch_trace, call("aten::matmul"))


def test_the_weights_gradient_is_not_copied(dispatch_trace):
    weight = torch.ones(4, 3, requires_grad=True)
    (torch.ones(2, 4) @ weight).pow(2).sum().backward()

    no_copy_in_accumulate(dispatch_trace, "weight")


class OnMyBackend(torch.Tensor):
    """A tensor on a device of one's own, without a line of C++. A real backend would not have the Python keys."""

    @staticmethod
    def __new__(cls, *size):
        return torch.Tensor._make_wrapper_subclass(cls, size, device="privateuseone:0")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def scale(x, by):
    return x


def test_which_keys_my_backends_operator_goes_to(dispatch_trace):
    with torch.library._scoped_library("mybackend", "DEF") as library:
        library.define("scale(Tensor x, float by) -> Tensor")
        library.impl("scale", scale, "PrivateUse1")
        torch.ops.mybackend.scale(OnMyBackend(2, 3), 2.0)

    ways = "PythonTLSSnapshot → AutogradPrivateUse1 → Python; PrivateUse1"
    assert keys(dispatch_trace, "mybackend::scale") == ways
    assert_kernel_ran(dispatch_trace, "scale", under="PrivateUse1")


def test_in_which_order_hooks_run(dispatch_trace):
    def of_tensor(gradient): ...
    def before_node(gradients): ...
    def after_node(inputs, outputs): ...
    def accumulated(leaf): ...

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(after_node)
    y.grad_fn.register_prehook(before_node)
    y.register_hook(of_tensor)
    x.register_post_accumulate_grad_hook(accumulated)
    y.sum().backward()

    assert hook_order(dispatch_trace) == "of_tensor, before_node, after_node, accumulated"


def test_inference_mode_leaves_autograd_out(dispatch_trace):
    with torch.inference_mode():
        torch.ones(2) * torch.ones(2)

    assert keys(dispatch_trace, "aten::mul.Tensor") == "CPU"
    assert_never(dispatch_trace, node_created())
