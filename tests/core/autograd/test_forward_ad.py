"""Forward mode: levels, the lifetime of tangents, the trace, and the generated formulas.

The recorded programs of ``truth/programs/forward_ad.txt`` show step by step what PyTorch does.
"""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.autograd.forward_mode import forward_ad as core_forward_ad
from dispatchviz.core.autograd.forward_mode.forward_grad import levels
from dispatchviz.core.codegen import autograd, forward_derivatives
from dispatchviz.core.codegen.model import SpecError, load
from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.running.process_state import clean_process_state

fwAD = torch.autograd.forward_ad


@pytest.fixture(autouse=True)
def no_level_is_left_open() -> object:
    yield
    assert not levels


def dual() -> torch.Tensor:
    return fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))


# -- levels ------------------------------------------------------------------------------------------------------------


def test_leaving_a_level_clears_tangents_of_every_kind() -> None:
    with fwAD.dual_level():
        result = torch.tensor([1.0], requires_grad=True).exp()
        made = dual()
        kept = fwAD.make_dual(torch.tensor([1.0], requires_grad=True), torch.tensor([2.0])).exp()
        assert fwAD.unpack_dual(kept.grad_fn._saved_result).tangent is not None
    assert fwAD.unpack_dual(result).tangent is None
    with fwAD.dual_level():
        assert fwAD.unpack_dual(made).tangent is None
        assert fwAD.unpack_dual(kept.grad_fn._saved_result).tangent is None


def test_a_level_keeps_no_tensor_alive() -> None:
    with fwAD.dual_level():
        gone = weakref.ref(dual())
        tangent = torch.tensor([3.0])
        gone_tangent = weakref.ref(fwAD.unpack_dual(fwAD.make_dual(torch.tensor([1.0]), tangent) * 2.0).tangent)
        gc.collect()
        assert gone() is None
        assert gone_tangent() is None


def test_a_level_is_open_in_all_threads_and_the_mode_in_one() -> None:
    found = []
    with fwAD.dual_level(), fwAD._set_fwd_grad_enabled(False):
        thread = threading.Thread(target=lambda: found.append(fwAD.unpack_dual(dual() + dual()).tangent.tolist()))
        thread.start()
        thread.join()
        assert fwAD.unpack_dual(dual()).tangent is None
    assert found == [[6.0, 8.0]]


def test_a_program_that_leaves_its_level_open_does_not_disturb_the_next() -> None:
    with clean_process_state():
        fwAD.enter_dual_level()
    with clean_process_state():
        assert fwAD.enter_dual_level() == 0
        fwAD.exit_dual_level()
    with fwAD.dual_level() as level:
        assert level == 0


def test_no_tensor_is_checked_while_no_level_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        raise AssertionError("a tensor was asked for its tangent")

    monkeypatch.setattr(core_forward_ad, "fw_grad", refuse)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).view(2, 1).clone()
    y.mul_(2)
    torch.cat([y, y]).sum().backward()
    assert x.grad is not None
    with fwAD.dual_level(), pytest.raises(AssertionError, match="asked for its tangent"):
        x * x


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_operators_without_pytorchs_formula_raise() -> None:
    with fwAD.dual_level(), pytest.raises(NotImplementedError, match="forward AD with igamma that does not support it"):
        torch.ops.aten.igamma(dual(), torch.ones(2))


def test_views_that_read_memory_differently_have_the_tangent_of_their_base() -> None:
    with fwAD.dual_level():
        base = torch.tensor([1j, 2.0])
        view = torch.view_as_real(base)
        base.copy_(fwAD.make_dual(torch.tensor([1j, 2.0]), torch.tensor([2j, 1.0])))
        assert fwAD.unpack_dual(view).tangent.tolist() == [[0.0, 2.0], [1.0, 0.0]]


# -- recorded events ---------------------------------------------------------------------------------------------------


def test_trace_has_formulas_and_the_source_of_tangents() -> None:
    with dispatchviz.record() as trace, fwAD.dual_level():
        d = dual()
        y = d * d
        y.sin_()
        y.view(2, 1)
    formulas = {e.formula: e for e in trace if isinstance(e, ev.ForwardFormulaEntered)}
    assert list(formulas) == [
        "other_t * self_p + self_t * other_p",
        "clone(self_t, memory_format)",
        "(original_self_t.conj() * original_self_p.cos().conj()).conj()",
        "view(self_t, size)",
    ]
    product = formulas["other_t * self_p + self_t * other_p"]
    inside = [e.operator for e in trace.children(product.seq) if isinstance(e, ev.Dispatched)]
    assert inside == [
        "aten::_fw_primal",
        "aten::_fw_primal",
        "aten::mul.Tensor",
        "aten::mul.Tensor",
        "aten::add.Tensor",
    ]
    assert [e.how for e in trace if isinstance(e, ev.TangentSet)] == [
        "stored without a copy",
        "stored without a copy",
        "stored without a copy",
        "written in place",
        "stored without a copy",
    ]
    assert [type(e) for e in trace if isinstance(e, (ev.DualLevelEntered, ev.DualLevelLeft))] == [
        ev.DualLevelEntered,
        ev.DualLevelLeft,
    ]
    left = next(e for e in trace if isinstance(e, ev.DualLevelLeft))
    assert left.tangents == 2  # of d and y: the clone of y's old value and the view are gone
    assert "closed. Two tangents are removed" in why_here(trace, left.seq)
    assert "The operator is linear" in why_here(trace, formulas["view(self_t, size)"].seq)


# -- the generator -----------------------------------------------------------------------------------------------------


FUNCTIONS = """\
- func: sin(Tensor self) -> Tensor
  dispatch:
    CPU: sin
- func: sin_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: sin_
- func: cos(Tensor self) -> Tensor
  dispatch:
    CPU: cos
- func: neg(Tensor self) -> Tensor
  dispatch:
    CPU: neg
- func: neg_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: neg_
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: mul
- func: sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  dispatch:
    CPU: sub
"""


def kernels(tmp_path: Path, *derivatives: str) -> str:
    """The generated autograd kernels for some entries, and their forward-mode part."""
    (tmp_path / "functions.yaml").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "derivatives.yaml").write_text("\n".join(derivatives), encoding="utf-8")
    spec = load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml")
    return f"{autograd.variable_type(spec)}\n\n\n{autograd.forward_mode(spec)}"


SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos()\n"
NEG = "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n"


def kernel(text: str, name: str) -> str:
    """The kernel, and the function that sets its result's tangent."""
    return "\n".join(part.split("\n\n\n")[0] for part in text.split(f"def {name}(")[1:])


def test_elementwise_formulas_come_from_backward(tmp_path: Path) -> None:
    text = kernels(tmp_path, SIN + "  result: auto_element_wise\n")
    assert "term_0 = ops.cos.call(self_p)" in kernel(text, "sin")
    product = "conjugated(ops.mul_Tensor.call(conjugated(self_t), term_0))"
    assert f"result_new_fw_grad = {product}" in kernel(text, "sin")
    assert "set_fw_grad(result, result_new_fw_grad)" in kernel(text, "sin")


def test_in_place_formula_gets_a_clone_if_it_needs_the_old_value(tmp_path: Path) -> None:
    text = kernels(tmp_path, SIN + "  result: auto_element_wise\n", NEG + "  result: auto_linear\n")
    sin, neg = kernel(text, "sin_"), kernel(text, "neg_")
    assert "original_self = ops.clone.call(self) if any_has_forward_grad_self else None" in sin
    assert "term_0 = ops.cos.call(original_self_p)" in sin
    assert "ops.mul_Tensor.call(conjugated(original_self_t), term_0)" in sin
    assert 'save(grad_fn, "self", original_self)' in sin
    assert "original_self" not in neg
    assert "self_t = ops.clone.call(self_t)" in neg
    assert "ops.copy_.call(self_t_raw, self_new_fw_grad, False)" in neg


def test_formula_equal_to_its_operator_runs_in_place(tmp_path: Path) -> None:
    neg = kernel(kernels(tmp_path, NEG + "  result: self_t.neg()\n"), "neg_")
    assert "ops.neg_.call(self_t_raw)" in neg
    assert "copy_" not in neg


def test_operands_are_evaluated_from_right_to_left(tmp_path: Path) -> None:
    text = kernels(
        tmp_path,
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self\n"
        "  result: self_t * other_p - other_t * self_p\n",
    )
    lines = [line.strip() for line in kernel(text, "mul_Tensor").splitlines()]
    assert "term_0 = ops.mul_Tensor.call(other_t, self_p)" in lines
    assert lines.index("term_0 = ops.mul_Tensor.call(other_t, self_p)") < lines.index(
        "result_new_fw_grad = ops.sub_Tensor.call(ops.mul_Tensor.call(self_t, other_p), term_0)"
    )


def test_operators_without_a_formula_refuse_tangents(tmp_path: Path) -> None:
    assert 'forbid_fw_derivatives("sin", NOT_IMPLEMENTED, self)' in kernel(kernels(tmp_path, SIN), "sin")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("self_q", "unknown name 'self_q'"),
        ("self_t +", "not a Python expression"),
        ("nowhere(self_t, grad)", "unknown"),
    ],
)
def test_mistakes_in_the_yaml_are_refused_with_their_location(tmp_path: Path, formula: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        kernels(tmp_path, f"{SIN}  result: {formula}\n")


def test_auto_element_wise_requires_one_input(tmp_path: Path) -> None:
    entry = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self\n"
    with pytest.raises(SpecError, match="auto_element_wise needs one differentiable input"):
        kernels(tmp_path, entry + "  result: auto_element_wise\n")


NONE_IN_PYTORCH = {
    *("index_reduce", "index_reduce_", "_scaled_dot_product_flash_attention_for_cpu"),
    *("huber_loss_backward", "soft_margin_loss_backward", "batch_norm_backward"),
    *("_unique", "_unique2", "unique_consecutive", "unique_dim", "unique_dim_consecutive"),
    *("_pack_padded_sequence", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell", "mkldnn_rnn_layer"),
    *("acosh_", "asinh_", "atanh_", "igamma", "igamma_", "igammac", "igammac_"),
    *("_cdist_backward", "_cdist_forward", "_euclidean_dist", "_pdist_backward", "_pdist_forward", "rrelu_with_noise_"),
    *("geqrf", "ormqr"),
    *("special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar"),
    *("grid_sampler_2d", "grid_sampler_2d_backward", "grid_sampler_3d", "grid_sampler_3d_backward"),
    *("_embedding_bag", "_embedding_bag_backward", "_embedding_bag_dense_backward", "embedding_renorm_"),
    *("_ctc_loss", "_ctc_loss.Tensor", "multi_margin_loss", "multilabel_margin_loss_forward"),
    *("_standard_gamma", "_standard_gamma_grad", "conv_tbc", "_masked_softmax", "segment_reduce"),
    *("native_dropout_backward", "_pin_memory", "_weight_norm_interface"),
}
"""Operators without a forward formula, in PyTorch too."""


def test_all_forward_formulas_of_pytorch_exist() -> None:
    """Check that only operators that PyTorch decomposes too have no formula."""
    from dispatchviz.core.codegen import forward, native

    spec = load(native.FOLDER / "native_functions.yaml", native.FOLDER / "derivatives.yaml")
    missing = {name for name, entry in spec.derivatives.items() if entry.formulas and not entry.forward}
    assert missing == {*NONE_IN_PYTORCH, *forward.DECOMPOSITIONS}
    for name, entry in spec.derivatives.items():
        assert len(forward_derivatives.derivatives(spec.functions[name], entry)) == len(entry.forward)
