"""The parts of random programs about autograd as source text: operators, views, writes, modes.

``{0}`` and ``{1}`` stand for variables. ``autograd_programs.py`` combines the parts and keeps track of shapes.
"""

from __future__ import annotations

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3), (2, 3), (3, 2), (1, 3), (2, 1), (2, 2), (2, 3, 2))

SAME_SHAPE = tuple(
    """
-{0}|{0}.exp()|{0}.sin()|{0}.cos()|{0}.tanh()|{0}.sigmoid()|torch.relu({0})|{0}.abs()|{0} ** 2|{0} ** 3|2 ** {0}
{0}.square()|{0} * 2|{0} + 1|1.5 - {0}|{0} / 4|1 / ({0} + 9)|{0}.clone()|{0}.clamp(-1, 1)|{0}.clamp(min=0)
{0}.masked_fill({0} > 0.5, 2.0)|{0}.sign()|{0}.floor()|torch.where({0} > 0, {0}, 0.5)|{0}.to(torch.float32)
torch.rsub({0}, 1)|({0} * {0} + 1).sqrt()|({0} * {0} + 1).log()|({0} * {0} + 1).rsqrt()|{0}.erf()|{0}.detach()
{0}.round()|{0}.sgn()|({0} + 9).reciprocal()|{0}.clamp(max=0.5)|torch.clamp_min({0}, 0.25)|{0} ** 0|({0} * {0}) ** 1.5
{0} * 0|{0}.sinh()|{0}.cosh()|torch.ops.aten.silu({0})|torch.ops.aten.gelu({0})|{0}.conj()|{0}.contiguous()
torch.ops.aten.gelu({0}, approximate='tanh')|{0}.double()|{0}.mul({0}.detach())
torch.ops.aten.dropout({0}, 0.5, False)
{0}.masked_fill({0} > 0, {0}.detach().max())|{0}.masked_fill({0} > 0, {0}.max())|torch.where({0} > 0, 1.0, {0})
""".strip()
    .replace("\n", "|")
    .split("|")
)
"""Operators of one tensor that keep its shape."""

TWO = tuple(
    """
{0} + {1}|{0} - {1}|{0} * {1}|{0} / ({1} * {1} + 1)|torch.add({0}, {1}, alpha=2)|torch.maximum({0}, {1})
torch.minimum({0}, {1})|torch.where({0} > {1}, {0}, {1})|{0} * {0} * {1}|torch.atan2({0}, {1} + 3)
({0} * {0} + 1) ** {1}
torch.lerp({0}, {1}, 0.25)|torch.addcmul({0}, {0}, {1}, value=2)|torch.sub({0}, {1}, alpha=-1)|torch.rsub({0}, {1})
torch.div({0}, {1} * {1} + 1, rounding_mode='floor')|{0} * ({1} > 0)|({0} + {1}) * ({0} - {1})
""".strip()
    .replace("\n", "|")
    .split("|")
)
"""Operators of two tensors that broadcast."""

BOUNDED = ("{0}.clamp({1}, {2})", "{0}.clamp(min={1})", "{0}.clamp(max={2})", "torch.addcmul({0}, {1}, {2})")
"""Operators of three tensors. The last two have the shape of the first one or are 0-dim."""

WITH_DIM = (
    *("sum({0}, keepdim={1})", "mean({0}, keepdim={1})", "amax({0}, keepdim={1})", "prod({0}, keepdim={1})"),
    *("logsumexp({0}, keepdim={1})", "std({0}, keepdim={1})", "amin({0}, keepdim={1})", "max({0}, keepdim={1})[0]"),
    *("min({0}, keepdim={1})[0]", "var({0}, correction=0, keepdim={1})", "sum(({0},), keepdim={1})"),
    *("var({0}, unbiased=False, keepdim={1})", "max({0}, keepdim={1}).values"),
)
"""Methods along a dimension."""

NORMS = ("0.5", "1", "1.5", "2", "3", "float('inf')", "0")

OVER_ALL = ("sum", "mean", "prod", "max", "min", "var", "std", "amax", "amin")

ALONG = (
    *(
        "cumsum({0})",
        "softmax({0})",
        "log_softmax({0})",
        "cumprod({0})",
        "sort({0})[0]",
        "sort({0}, descending=True)[0]",
    ),
    *("sort({0}).values", "flip({0})", "cumsum({0}, dtype=torch.float64)"),
)
"""Methods along a dimension that keep the shape."""

WRITES = tuple(
    """
{0}.mul_(2)|{0}.add_(1)|{0}.neg_()|{0}.exp_()|{0}.zero_()|{0}.fill_(3)|{0}.sin_()|{0}.pow_(2)|{0}.relu_()|{0}.sigmoid_()
{0}.tanh_()|{0}.clamp_(-1, 1)|{0}.masked_fill_({0} > 0, 0.5)|{0}.abs_()|{0}.cos_()|{0}.square_()|{0}.floor_()
{0}.div_(4)|{0}.sub_(1)|{0}.clamp_(min=0.5)|{0}.round_()|{0}.erf_()|{0}.sgn_()
{0}.masked_fill_({0} > 0, {0}.detach().max())
""".strip()
    .replace("\n", "|")
    .split("|")
)
WRITES_TWO = (
    *("{0}.mul_({1})", "{0}.add_({1})", "{0}.copy_({1})", "{0}.sub_({1}, alpha=2)", "{0}.div_({1} * {1} + 1)"),
    *("{0}.addcmul_({1}, {1})", "{0}.atan2_({1} + 3)", "{0}.copy_({1}.detach())"),
)
RESHAPED_IN_PLACE = ("{0}.unsqueeze_(0)", "{0}.squeeze_()", "{0}.transpose_(0, -1)", "{0}.t_()")
"""In-place operators that change the geometry; the last two need dimensions."""

PARTS = (
    *("{0}.select(0, 0)", "{0}.narrow(0, 0, 1)", "{0}.unsqueeze(0)", "{0}.view(-1)", "{0}.select(-1, 0)"),
    *("{0}.transpose(0, -1)", "{0}.detach()", "{0}.expand_as({0})", "{0}.chunk(1)[0]", "{0}.unbind(0)[0]"),
)
MODES = (
    *("torch.no_grad()", "torch.no_grad()", "torch.enable_grad()", "torch.set_grad_enabled(False)"),
    *("torch.inference_mode()", "torch.inference_mode(False)", "torch.set_grad_enabled(True)"),
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t)",
    "torch.autograd.graph.save_on_cpu()",
    "torch.autograd.graph.disable_saved_tensors_hooks('none here')",
)
