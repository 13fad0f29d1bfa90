"""Tensors of many geometries, and every conversion that takes a memory format or follows the strides of its input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_ARANGE = "torch.arange(96.)"
_LAST = ".contiguous(memory_format=torch.channels_last)"
_LAST_3D = ".contiguous(memory_format=torch.channels_last_3d)"
_IMAGES = f"{_ARANGE}.reshape(2, 3, 4, 4)"
_BY_CHANNEL = f"{_ARANGE}.reshape(2, 4, 4, 3).permute(0, 3, 1, 2)"
_VOLUMES = "torch.zeros(2, 3, 2, 4, 4)"

TENSORS = (
    *(f"{_IMAGES}{then}" for then in ("", _LAST, ".permute(0, 2, 3, 1)", ".permute(3, 2, 1, 0)", "[:, 1:2]")),
    *(f"{_BY_CHANNEL}{then}" for then in ("[:, 1:]", "[:, :, ::2]", "[:, 1:2]", "[1:]")),
    *(f"torch.zeros{size}.expand(2, 3, 4, 4)" for size in ("(1, 3, 1, 1)", "(1, 3, 4, 4)", "(2, 1, 4, 4)")),
    *(
        f"torch.zeros{size}"
        for size in ("(1, 1, 1, 1)", "(2, 1, 3, 4)", "(1, 3, 4, 4)", "(2, 3, 1, 1)", "(2, 3, 1, 4)")
    ),
    *(f"torch.zeros{size}{_LAST}" for size in ("(1, 3, 1, 1)", "(2, 1, 3, 4)", "(2, 0, 4, 4)")),
    *(f"torch.zeros(300).as_strided((2, 1, 3, 4), {stride})" for stride in ("(12, 1, 4, 1)", "(12, 12, 4, 1)")),
    *(f"torch.zeros(300).as_strided((1, 3, 1, 1), {stride})" for stride in ("(3, 1, 3, 3)", "(7, 1, 1, 1)")),
    *(f"torch.zeros(300).as_strided((2, 3, 4, 4), {stride})" for stride in ("(96, 2, 24, 6)", "(1, 2, 6, 24)")),
    *(f"torch.zeros(300).as_strided((2, 3, 4, 4), {stride})" for stride in ("(0, 1, 12, 3)", "(1, 1, 1, 1)")),
    *(f"torch.zeros(300).as_strided((2, 3, 4, 4), {stride}, 5)" for stride in ("(48, 16, 4, 1)", "(50, 16, 4, 1)")),
    *(f"torch.zeros{size}" for size in ("(0, 3, 4, 4)", "(2, 0, 4, 4)", "(2, 3, 0, 4)", "(2, 3, 0, 4, 4)")),
    *("torch.empty((2, 0, 4, 4), memory_format=torch.channels_last)", "torch.empty_strided((2, 0, 4), (7, 5, 3))"),
    *(f"{_VOLUMES}{then}" for then in ("", _LAST_3D, ".permute(0, 2, 3, 4, 1)", f"{_LAST_3D}[:, :, :, ::2]")),
    *(
        "torch.zeros(1, 3, 1, 1, 1)",
        "torch.zeros(1, 3, 1, 1, 1).expand(2, 3, 2, 2, 2)",
        "torch.zeros(2, 3, 2, 4, 4, 2)",
    ),
    *("torch.tensor(2.)", "torch.arange(6.)", "torch.arange(6.)[::2]", "torch.arange(1.).expand(4)"),
    *(f"torch.arange(6.).reshape(2, 3){then}" for then in ("", ".t()", "[:, ::2]", "[:1].expand(2, 3)")),
    *(f"torch.arange(24.).reshape(2, 3, 4){then}" for then in (".permute(2, 0, 1)", ".transpose(0, 1)[:, :, 1:]")),
    *("torch.zeros(2, 3, 4, 4, requires_grad=True)", f"torch.zeros(2, 3, 4, 4, dtype=torch.complex64){_LAST}"),
    *(f"torch.zeros(2, 3, 4, 4, device='meta'){then}" for then in ("", ".permute(0, 3, 1, 2)[:, 1:]")),
)
_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
_WITH_A_FORMAT = (
    *("x.to({})", "x.to(torch.float64, {})", "x.to(torch.float32, {})", "x.to('cpu', {})", "x.to('meta', {})"),
    *("x.to('cpu', torch.float32, {})", "x.to(torch.zeros(1), {})", "x.to(torch.zeros(1), False, True, {})"),
    *("x.to(torch.float32, copy=True, {})", "x.to('cpu', copy=True, {})", "torch.nn.Parameter(x).to({})"),
    *("x.contiguous({})", "x.is_contiguous({})", "x.clone({})", "torch.clone(x, {})", "x.cpu({})"),
    *("x.float({})", "x.half({})", "x.long({})", "x.bool({})", "x.cfloat({})", "x.type(torch.float64, {})"),
    *("x.type('torch.DoubleTensor', {})", "x.type(torch.float32, {})", "torch.empty_like(x, {})"),
    *("torch.empty_like(x, dtype=torch.float64, {})", "torch.zeros_like(x, {})", "torch.ones_like(x, {})"),
    *("torch.full_like(x, 2, {})", "torch.rand_like(x, {})", "torch.randn_like(x, {})"),
    *("torch.randint_like(x, 5, {})", "torch.randint_like(x, 2, 5, {})", "torch.empty(x.shape, {})"),
    *("torch.empty(x.shape, device='meta', {})", "torch.empty(x.shape, out=torch.zeros(0), {})"),
    *("torch.zeros(0).resize_(x.shape, {})", "torch.zeros(0).resize_as_(x, {})"),
    *("x.detach().clone().resize_(x.shape, {})", "x.detach().clone().resize_as_(x, {})"),
    *("torch.ops.aten._to_copy(x, {})", "torch.ops.aten.contiguous(x, {})"),
    *("torch.nn.ParameterList([x]).to({})[0]", "torch.nn.ParameterList([x]).to(torch.float64, {})[0]"),
)
CONVERSIONS = (
    *(each.format(f"memory_format=torch.{name}") for each, name in product(_WITH_A_FORMAT, _FORMATS)),
    *(each.format("memory_format=None") for each in _WITH_A_FORMAT),
    *("x.contiguous()", "x.is_contiguous()", "x.clone()", "x.double()", "x.cpu()", "x.to(x)", "torch.empty_like(x)"),
    *("x.type_as(torch.zeros(1, dtype=torch.float64))", "torch.zeros(x.shape).copy_(x)", "x.data.contiguous()"),
    *("torch.zeros_like(x).copy_(x)", "x + 1", "x + torch.zeros(x.shape)", "torch.where(x == 0, x, x)"),
    *("x.new_zeros(x.shape)", "torch.asarray(x, dtype=torch.float64)", "torch.cat([x, x])", "x.masked_fill(x == 0, 0)"),
    *("x.dim_order()", "x.dim_order(ambiguity_check=True)", "x.repeat(*[1] * x.dim())"),
    "x.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])",
)


def pairs() -> Iterator[tuple[str, str]]:
    """Yield a tensor and its conversion."""
    return product(TENSORS, CONVERSIONS)
