# # Which of tanh's functions did a person write?
#
# A call of `torch.tanh` runs through a dozen functions of C++ before a number is computed. Search
# for their names in PyTorch's repository: most are not there. They are written while PyTorch is
# built, by torchgen, from a few lines of YAML. Which lines lead to which functions?

import torch

x = torch.tensor([0.5], requires_grad=True)
y = torch.tanh(x)
y.backward()

# ## Predict
#
# These are the lines that concern us. native_functions.yaml: `func: tanh(Tensor self) -> Tensor`,
# `structured_delegate: tanh.out`, `variants: function, method`. derivatives.yaml: `self:
# tanh_backward(grad, result)`. Guess which words make the Node, and which of the two tensors `x`
# and `y` it will keep.
#
# stop: event BindingEntered in `torch.tanh`
# `variants: function` makes this function and its parser of arguments, `method` one more for
# `x.tanh()`. Both call `at::_ops::tanh::call`, generated from `func` alone.
#
# predict: cell of tanh at AutogradCPU
# `VariableType::tanh` is generated, too. It is written because derivatives.yaml has an entry, and
# registered by one generated line, `m.impl("tanh", ...)`, in a block for Autograd.
#
# predict: Node TanhBackward0
# The class is generated, and so is its name: the operator's in camel case, Backward, and which of
# the operator's formulas it is. `v` has the text, `f` there opens whole files of torchgen.
#
# ## Run
#
# predict: cell of tanh at CPU
# `structured_delegate` is what makes this wrapper, with the class that allocates `y`. An entry
# with `dispatch: CPU: f` would have made one that just calls `f`.
#
# stop: event ImplEntered in `torch.tanh`
# Here is the person's part: `TORCH_IMPL_FUNC(tanh_out)` in UnaryOps.cpp. Press `A` and look at all
# that stands between it and your line. `v` says by whom each file is written.
#
# ## Investigate
#
# stop: event VariableSaved in `torch.tanh`
# The generator has read the formula: it names `result` and not `self`. So the class has one saved
# variable, and the generated kernel fills it after the call, when there is a result.
#
# stop: call tanh_backward
# `TanhBackward0::apply` is the formula with checks around it. The formula's function is an
# operator with an entry of its own, so all that you have seen was generated for it as well.
#
# ## Modify
#
# stop: `y = torch.tanh(x)`
# Press `W` and run this line with `requires_grad` of `x` off; `backward` then raises. Which of the
# generated functions still run, which do not? What does that say of where the decision is made?
#
# ## Make
#
# `square` has neither a `dispatch` nor an entry in derivatives.yaml. Which of the files are
# written for it? Guess, then compare `dispatchviz codegen square` with `dispatchviz codegen tanh`.
# Write a program that shows what the `grad_fn` of its result is.


def facts():
    """What the prose says of PyTorch."""
    from pathlib import Path

    import torch

    x = torch.tensor([0.5], requires_grad=True)
    y = torch.tanh(x)
    assert type(y.grad_fn).__name__ == "TanhBackward0"
    assert torch.equal(y.grad_fn._saved_result, y)
    assert not hasattr(y.grad_fn, "_saved_self"), "the formula does not name self"
    assert torch.equal(x.tanh(), y), "a method"
    for key in ("CPU", "Autograd"):
        assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::tanh", key)
    y.backward()
    assert torch.equal(x.grad, torch.ops.aten.tanh_backward(torch.ones(1), y.detach())), "an operator"
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::tanh_backward", "Autograd")
    assert torch.tanh(x.detach()).grad_fn is None
    assert type(torch.square(x).grad_fn).__name__ == "PowBackward0", "square has no Node of its own"
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::square", "Autograd")

    # the entries, where PyTorch ships them
    packaged = Path(torch.__file__).parents[1] / "torchgen" / "packaged"
    if packaged.is_dir():
        functions = (packaged / "ATen" / "native" / "native_functions.yaml").read_text()
        entries = {text.split("(")[0]: text for text in functions.split("- func: ")}
        assert entries["tanh"].startswith("tanh(Tensor self) -> Tensor\n")
        assert "structured_delegate: tanh.out" in entries["tanh"]
        assert "variants: function, method" in entries["tanh"]
        assert "CPU, CUDA, MPS, MTIA: tanh_out" in entries["tanh.out"]
        assert "dispatch:" not in entries["square"]
        derivatives = (packaged / "autograd" / "derivatives.yaml").read_text()
        formulas = {text.split("(")[0]: text for text in derivatives.split("- name: ")}
        assert "  self: tanh_backward(grad, result)\n" in formulas["tanh"]
        assert "square" not in formulas


def check(trace):
    """The generated functions around the one that a person wrote."""
    from dispatchviz.core.record.events import BindingEntered, ImplEntered, VariableSaved

    assert_subsequence(
        trace,
        [
            event(BindingEntered, pytorch_function="THPVariable_tanh"),
            kernel("VariableType::tanh", under="AutogradCPU"),
            node_created("TanhBackward0"),
            kernel("wrapper_CPU_tanh", under="CPU"),
            event(ImplEntered, function="structured_tanh_out::impl"),
            event(VariableSaved, name="result"),
            node_ran("TanhBackward0"),
            call("aten::tanh_backward", "AutogradCPU"),
        ],
    )
