"""Batch rules return the same results as a loop over the examples."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.table.library import process
from dispatchviz.core.table.operator_entry import OperatorEntry
from truth.compare import close

Dims = tuple[int | None, ...]
Function = Callable[..., Any]

ATEN = torch.ops.aten
A = torch.tensor([[[1.0, -2.0], [3.0, 4.0]], [[0.5, 6.0], [-7.0, 8.0]], [[2.0, 2.5], [1.0, 3.0]]])
"""[3, 2, 2]: example i along dimension 0 is a matrix."""
B = torch.tensor([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 1.0], [0.5, 2.0]], [[3.0, 1.5], [2.0, 1.0]]])
X, Y = A.narrow(0, 0, 2), B.narrow(0, 0, 2)
"""[2, 2, 2]: the examples look alike, whichever dimension is hidden."""
V = torch.tensor([10.0, 20.0])
N = torch.tensor([1, 0])
M = torch.tensor([[1, 0], [1, 1]])
CUBE = torch.tensor([[[[1.0, -2.0], [3.0, 4.0]], [[0.5, 6.0], [-7.0, 8.0]]], [[[2.0, 5.0], [0.0, 4.0]], X.tolist()[1]]])
WINDOWS = torch.tensor([[[[1.0, 2.0], [0.0, 1.0]]], [[[1.0, 0.0], [2.0, 1.0]]]])
IMAGES = torch.tensor([[[[1.0, -2.0, 1.0], [3.0, 4.0, 0.0], [1.0, 1.0, 2.0]]], [[[0.5, 6, 1], [-7, 8, 2], [0, 1, 3]]]])
TABLES = torch.tensor([[[1.0, -2.0], [3.0, 4.0], [0.0, 1.0]], [[0.5, 6.0], [-7.0, 8.0], [2.0, 3.0]]])

UNARY: dict[str, Function] = {
    "neg": lambda a: -a,
    "exp": torch.exp,
    "relu": torch.relu,
    "reciprocal": torch.reciprocal,
    "scalars": lambda a: 3 - (a * 2 + 1) / 4,
    "power": lambda a: a**2,
    "clamp_min": lambda a: a.clamp_min(1),
    "round to decimals": lambda a: torch.round(a / 3, decimals=1) + (a / 3).round_(decimals=2),
    "tensor_split": lambda a: a.tensor_split(2)[1],
    "split sizes": lambda a: torch.ops.aten.split.sizes(a, [1, 1])[1],
    "compare": lambda a: a > 1,
    "where": lambda a: torch.where(a > 1, a, 0.0),
    "sum": torch.sum,
    "sum dim": lambda a: a.sum(-1),
    "sum keepdim": lambda a: a.sum(0, keepdim=True),
    "mean": lambda a: a.mean(1),
    "t": lambda a: a.t(),
    "view": lambda a: a.contiguous().view(4),
    "reshape": lambda a: a.t().reshape(4),
    "unsqueeze": lambda a: a.unsqueeze(1),
    "squeeze": lambda a: a.unsqueeze(0).squeeze(),
    "squeeze dim": lambda a: a.unsqueeze(0).squeeze(0),
    "expand": lambda a: a.expand(3, 2, 2),
    "permute": lambda a: a.permute(1, 0),
    "movedim": lambda a: a.movedim(1, 0),
    "select": lambda a: a.select(1, 0),
    "narrow": lambda a: a.narrow(0, 1, 1),
    "unbind": lambda a: a.unbind(1)[1],
    "zeros_like": torch.zeros_like,
    "full_like": lambda a: torch.full_like(a, 2.0),
    "new_zeros": lambda a: a.new_zeros(3),
    "double": lambda a: a.double(),
    "clone": lambda a: a.clone(memory_format=torch.contiguous_format),
    "in place": lambda a: a.clone().mul_(2).sub_(1).neg_(),
    "filled": lambda a: a.clone().fill_(7),
    "zeroed": lambda a: a.clone().zero_(),
    "squeezed in place": lambda a: a.clone().unsqueeze_(0).squeeze_(0).t_(),
    "stack": lambda a: torch.stack([a, a], 1),
    "cat": lambda a: torch.cat([a, a, torch.ones(2, 2)], -1),
    "matmul": lambda a: a @ a.t(),
    "mv": lambda a: torch.mv(a, a.select(0, 1)),
    "dot": lambda a: torch.dot(a.select(0, 0), a.select(1, 0)),
    "outer": lambda a: torch.outer(a.select(0, 0), a.select(1, 0)),
    "constant": lambda a: torch.ones(2),
    "captured": lambda a: a + B.select(0, 0),
    **{name: getattr(torch, name) for name in ("tanh", "sigmoid", "abs", "sgn", "sign", "floor", "round", "isnan")},
    **{name: getattr(torch, name) for name in ("angle", "erf", "square", "flatten", "tril", "triu", "diagonal")},
    "roots": lambda a: a.abs().sqrt() + a.abs().rsqrt(),
    "gelu": lambda a: torch.ops.aten.gelu(a) + torch.ops.aten.gelu(a, approximate="tanh"),
    "silu": lambda a: torch.ops.aten.silu(a),
    "more in place": lambda a: a.clone().tanh_().sigmoid_().sqrt_().rsqrt_().erf_(),
    "signs in place": lambda a: a.clone().abs_().floor_().round_().sgn_().sign_(),
    "clamp": lambda a: a.clamp(0, 2),
    "clamp to tensors": lambda a: torch.clamp(a, B.select(0, 0), B.select(0, 0)),
    "masked_fill": lambda a: a.masked_fill(a > 1, 7.0),
    "masked_select": lambda a: torch.masked_select(a, B.select(0, 0) > 1),
    "split": lambda a: a.split(1, 1)[1],
    "split_with_sizes": lambda a: a.split_with_sizes([1, 1])[0],
    "chunk": lambda a: a.chunk(2, -1)[0],
    "flip": lambda a: a.flip(0, -1),
    "repeat": lambda a: a.repeat(2, 1, 2),
    "broadcast_to": lambda a: a.broadcast_to(3, 2, 2),
    "view_as": lambda a: a.contiguous().view_as(B.select(0, 0)),
    "prod": torch.prod,
    "prod dim": lambda a: torch.prod(a, 1),
    "max": torch.max,
    "max dim": lambda a: torch.max(a, 0),
    "min": torch.min,
    "min keepdim": lambda a: torch.min(a, -1, keepdim=True),
    "amax": lambda a: torch.amax(a, (0, 1)),
    "amin": torch.amin,
    "argmax": torch.argmax,
    "argmax dim": lambda a: torch.argmax(a, 0, keepdim=True),
    "any": lambda a: torch.any(a > 5),
    "any dim": lambda a: torch.any(a > 5, 0),
    "logsumexp": lambda a: torch.logsumexp(a, 1),
    "norm": lambda a: ATEN.linalg_vector_norm(a),
    "norm dim": lambda a: ATEN.linalg_vector_norm(a, 2, [0], True),
    "cumsum": lambda a: torch.cumsum(a, 0),
    "cumprod": lambda a: torch.cumprod(a, -1),
    "sort": torch.sort,
    "sort stable": lambda a: torch.sort(a, stable=True, dim=0, descending=True),
    "topk": lambda a: torch.topk(a, 1, 0),
    "var": torch.var,
    "std dim": lambda a: torch.std(a, 0),
    "var correction": lambda a: torch.var(a, (0, 1), correction=0, keepdim=True),
    "softmax": lambda a: torch.softmax(a, -1),
    "log_softmax": lambda a: torch.log_softmax(a, 0),
    "gather": lambda a: torch.gather(a, 1, M),
    "index_select": lambda a: torch.index_select(a, 0, N),
    "index": lambda a: ATEN.index(a, [N]),
    "index later": lambda a: ATEN.index(a, [None, N]),
    "index_put": lambda a: ATEN.index_put(a, [None, N], V),
    "index_put_": lambda a: ATEN.index_put_(a.clone(), [N], V, True),
    "index_add": lambda a: torch.index_add(a, 1, N, X.select(0, 1), alpha=2),
    "scatter": lambda a: torch.scatter(a, 0, M, 9.0),
    "diagonal above": lambda a: ATEN.diagonal(a, 1),
    "split by one": lambda a: ATEN.split(a, 1, -1),
    "linear": lambda a: ATEN.linear(a, X.select(0, 1), V),
    "linear of vectors": lambda a: ATEN.linear(a.select(0, 1), X.select(0, 1), V),
    "layer_norm": lambda a: ATEN.layer_norm(a, [2], V, V),
    "mse_loss": lambda a: ATEN.mse_loss(a, X.select(0, 1)),
    "mse_loss of each": lambda a: ATEN.mse_loss(a, X.select(0, 1), 0),
    "max_pool2d": lambda a: ATEN.max_pool2d(a.unsqueeze(0), [1, 2]),
    "max_pool2d of several": lambda a: ATEN.max_pool2d_with_indices(a.unsqueeze(0).unsqueeze(0), [2, 2]),
    "dropout outside of training": lambda a: ATEN.dropout(a, 0.5, False),
    "dropout of all": lambda a: ATEN.dropout(a, 1.0, True),
}

BINARY: dict[str, Function] = {
    "add": torch.add,
    "sub": lambda a, b: torch.sub(a, b, alpha=2),
    "rsub": lambda a, b: torch.rsub(a, b),
    "div": torch.div,
    "floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "pow": lambda a, b: a.mul(a).pow(b),
    "le": torch.le,
    "and": lambda a, b: torch.logical_and(a > 0, b > 1),
    "ranks": lambda a, b: a + b.select(0, 0).sum(),
    "lower rank": lambda a, b: a.select(0, 0).sum() * b,
    "mm": torch.mm,
    "mv": lambda a, b: torch.mv(a, b.select(0, 0)),
    "addmv": lambda a, b: torch.addmv(b.select(0, 0), a, b.select(1, 0), beta=2, alpha=0.5),
    "in place": lambda a, b: a.clone().add_(b).mul_(b).div_(b),
    "copy": lambda a, b: a.clone().copy_(b),
    "maximum": torch.maximum,
    "max": torch.max,
    "min": torch.min,
    "clamp_min": lambda a, b: a.clamp_min(b) + torch.ones(2, 2).add(a).clamp_min_(B.select(0, 0)),
    "lerp by a tensor": lambda a, b: torch.lerp(a, b, B.select(0, 0)),
    "minimum of ranks": lambda a, b: torch.minimum(a.sum(), b),
    "atan2": lambda a, b: torch.atan2(a, b) + a.clone().atan2_(B.select(0, 0)),
    "complex": lambda a, b: torch.complex(a, b) * torch.polar(a, b),
    "or": lambda a, b: torch.logical_or(a > 0, b > 1),
    "clamp": lambda a, b: torch.clamp(a, b),
    "clamp max": lambda a, b: torch.clamp(a, max=b.sum()),
    "addcmul": lambda a, b: torch.addcmul(a, b, a, value=2),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    "masked_fill": lambda a, b: a.masked_fill(b > 1, 7.0),
    "tanh_backward": lambda a, b: torch.ops.aten.tanh_backward(a, b),
    "sigmoid_backward": lambda a, b: torch.ops.aten.sigmoid_backward(a, b),
    "silu_backward": lambda a, b: torch.ops.aten.silu_backward(a, b),
    "gelu_backward": lambda a, b: torch.ops.aten.gelu_backward(a, b),
    "in place logic": lambda a, b: a.clone().logical_and_(b).logical_or_(b - 1),
    "in place mask": lambda a, b: a.clone().masked_fill_(b > 1, 7.0),
    "stack": lambda a, b: torch.stack([a, b]),
}


def per_example(function: Function, tensors: list[Any], dims: Dims) -> list[Any]:
    """The stacked results of the function, computed for each example."""
    count = next(t.shape[d] for t, d in zip(tensors, dims, strict=True) if d is not None)
    parts = [
        listed(function(*(t if d is None else t.select(d, i) for t, d in zip(tensors, dims, strict=True))))
        for i in range(count)
    ]
    return [[part[member] for part in parts] for member in range(len(parts[0]))]


def listed(found: Any) -> list[Any]:
    return [one.tolist() for one in found] if isinstance(found, (list, tuple)) else [found.tolist()]


def check(function: Function, tensors: list[Any], dims: Dims) -> None:
    found = torch.vmap(function, in_dims=dims)(*tensors)
    assert close(listed(found), per_example(function, tensors, dims))


@pytest.mark.parametrize("name", UNARY)
def test_one_tensor_gives_the_same_as_a_loop(name: str) -> None:
    for dim in (0, 1, -1):
        check(UNARY[name], [X], (dim,))


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors_give_the_same_as_a_loop(name: str) -> None:
    """PyTorch refuses to write a batched value into a tensor that is not batched."""
    for dims in ((0, 0), (2, 1), (0, None), (None, 0)):
        if dims[0] is not None or not name.startswith(("in place", "copy")):
            check(
                BINARY[name], [t if d is not None else t.select(0, 0) for t, d in zip((X, Y), dims, strict=True)], dims
            )


@pytest.mark.parametrize("out_dim", [0, 1, 2, -1])
def test_out_dims_place_the_batch_dimension(out_dim: int) -> None:
    found = torch.vmap(lambda a: a * 2, out_dims=out_dim)(A)
    assert found.shape == torch.stack([A.select(0, i) for i in range(3)], out_dim % 3).shape
    assert found.select(out_dim, 1).tolist() == (A.select(0, 1) * 2).tolist()


@pytest.mark.parametrize("dims", list(itertools.permutations([0, 1, 2], 2)), ids=str)
def test_nested_with_every_pair_of_dims(dims: tuple[int, int]) -> None:
    outer, inner = dims
    below = inner - (inner > outer)  # the inner vmap counts without the outer's dimension
    found = torch.vmap(torch.vmap(torch.sum, in_dims=below), in_dims=outer)(A)
    rest = ({0, 1, 2} - {outer, inner}).pop()
    assert close(found.tolist(), A.permute(outer, inner, rest).sum(2).tolist())


def test_gradients_flow_through_nested_vmaps() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    torch.vmap(torch.vmap(lambda a: a * a * a))(x).sum().backward()
    assert x.grad.tolist() == [[3.0, 12.0], [27.0, 48.0]]


def test_a_jacobian_by_vmap_over_grad() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    unit = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    rows = torch.vmap(lambda v: torch.autograd.grad(y, x, v)[0])(unit)
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


DRAWS: dict[str, Function] = {
    "rand": lambda a: a + torch.rand(30),
    "bernoulli_": lambda a: a.clone().bernoulli_(0.5),
    "dropout": lambda a: ATEN.dropout(a, 0.5, True),
    "native_dropout": lambda a: ATEN.native_dropout(a, 0.5, True)[0],
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_random_numbers_are_the_same_or_different(draw: Function) -> None:
    x = torch.ones(4, 30)
    same = torch.vmap(draw, randomness="same")(x).tolist()
    assert all(row == same[0] for row in same)
    assert len({tuple(row) for row in torch.vmap(draw, randomness="different")(x).tolist()}) == 4
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(draw)(x)


def test_unbatched_tensor_cannot_be_filled_differently_in_place() -> None:
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        torch.vmap(lambda a: torch.zeros(3).bernoulli_(0.5), randomness="different")(X)


def test_batched_mask_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Attempted to vmap over `mask`"):
        torch.vmap(torch.masked_select)(A, A > 1)


def test_chunks_draw_the_same_numbers() -> None:
    rows = torch.vmap(lambda a: a + torch.rand(3), randomness="same", chunk_size=2)(torch.zeros(5, 3)).tolist()
    assert all(row == rows[0] for row in rows)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_give_the_same_as_the_whole(size: int) -> None:
    assert torch.vmap(torch.neg, chunk_size=size)(A).tolist() == (-A).tolist()


# -- the loop ----------------------------------------------------------------------------------------------------------


def test_the_loop_warns_and_can_be_switched_off() -> None:
    functorch = torch._C._functorch
    with pytest.warns(UserWarning, match="performance drop.*aten::take"):
        torch.vmap(lambda a: torch.take(a, torch.tensor([0])))(A)
    functorch._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match=r"aten::take hit the vmap fallback which is currently disabled"):
            torch.vmap(lambda a: torch.take(a, torch.tensor([0])))(A)
    finally:
        functorch._set_vmap_fallback_enabled(True)


def test_a_custom_operator_gets_the_loop() -> None:
    library = torch.library.Library("vmapped", "FRAGMENT")
    try:
        library.define("halved(Tensor x) -> Tensor")
        library.impl("halved", lambda a: a / 2, "CompositeExplicitAutograd")
        with pytest.warns(UserWarning, match="vmapped::halved"):
            found = torch.vmap(torch.ops.vmapped.halved, in_dims=1)(A)
        assert found.tolist() == (A.movedim(1, 0) / 2).tolist()
    finally:
        library._destroy()


# -- what is registered ------------------------------------------------------------------------------------------------


FUNCTORCH = [key for key in K if key.name.startswith("FuncTorch")]


WITHOUT_A_RULE = set(Path(__file__).with_name("without_a_rule.txt").read_text(encoding="utf-8").split())
"""Operators whose functorch kernel only PyTorch has, so that they raise under vmap. There should be none."""


def test_every_functorch_kernel_of_the_models_operators_runs() -> None:
    """All of them have a function, except for those in the list."""
    names = {schema.partition("(")[0] for schema in SCHEMAS.values()}
    assert {name for name in names if unknown_kernels(process.find(name))} == WITHOUT_A_RULE


def unknown_kernels(op: OperatorEntry) -> list[str]:
    kernels = [op.registrations[key][0] for key in FUNCTORCH if key in op.registrations]
    return [kernel.name for kernel in kernels if kernel.function is None and not kernel.fallthrough]


FALLBACKS = (
    K.FuncTorchDynamicLayerFrontMode,
    K.FuncTorchDynamicLayerBackMode,
    K.FuncTorchBatched,
    K.FuncTorchGradWrapper,
)


@pytest.mark.parametrize("key", FALLBACKS, ids=str)
def test_every_functorch_fallback_runs(key: K) -> None:
    assert process.fallbacks[key].function is not None


ZERO_DIM: dict[str, Function] = {
    "amax": lambda a: torch.amax(a, 0, keepdim=True),
    "max": lambda a: torch.max(a, 0),
    "cumsum": lambda a: torch.cumsum(a, -1),
    "sort": torch.sort,
    "argmax": torch.argmax,
    "softmax": lambda a: torch.softmax(a, 0),
    "prod": torch.prod,
    "gather": lambda a: torch.gather(a, 0, torch.tensor([0, 0])),
    "gather 0-dim": lambda a: torch.gather(a, 0, torch.tensor(0)),
    "index_select": lambda a: torch.index_select(a, 0, torch.tensor([0])),
    "mse_loss": lambda a: ATEN.mse_loss(a, a),
}


@pytest.mark.parametrize("name", ZERO_DIM)
def test_operators_of_numbers_give_the_same_as_a_loop(name: str) -> None:
    check(ZERO_DIM[name], [V], (0,))


def weighted(image: Any, weight: Any) -> Any:
    return ATEN.conv2d(image, weight, None, [1, 1], [1, 0])


def back(grad: Any, image: Any, weight: Any) -> Any:
    shape = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    return ATEN.convolution_backward(grad, image, weight, None, *shape, [True, True, True])


IMAGE_BATCH = torch.stack([IMAGES, IMAGES * 2])
KERNELS = torch.stack([WINDOWS, WINDOWS * 3])
GRADS = torch.stack([torch.ones(2, 2, 2, 2), torch.ones(2, 2, 2, 2) * 2])

SEVERAL: dict[str, tuple[Function, list[Any]]] = {
    "gather": (lambda a, n: torch.gather(a, 1, n), [X, torch.stack([M, 1 - M])]),
    "scatter": (lambda a, n, s: torch.scatter(a, 1, n, s), [X, torch.tensor([[[1], [0]], [[0], [0]]]), X + 10]),
    "scatter_add": (lambda a, n, s: torch.scatter_add(a, 0, n, s), [X, torch.stack([M, 1 - M]), X + 10]),
    "index_select": (lambda a, n: torch.index_select(a, 1, n), [X, M]),
    "index_add": (lambda a, n, s: torch.index_add(a, 0, n, s), [X, M, X + 1]),
    "index": (lambda a, n: ATEN.index(a, [n]), [X, M]),
    "index later": (lambda a, n: ATEN.index(a, [None, n, n]), [CUBE, M]),
    "index apart": (lambda a, n: ATEN.index(a, [n, None, N]), [CUBE, M]),
    "index_put": (lambda a, n, v: ATEN.index_put(a, [n], v, True), [X, M, V]),
    "index_put later": (lambda a, n, v: ATEN.index_put(a, [None, n], v, True), [X, M, X + 10]),
    "embedding": (ATEN.embedding, [TABLES, torch.tensor([[0, 2], [1, 1]])]),
    "embedding backward": (
        lambda g, n: ATEN.embedding_dense_backward(g, n, 3, 1, False),
        [X, torch.tensor([[0, 2], [1, 0]])],
    ),
    "layer_norm": (lambda a, w, b: ATEN.native_layer_norm(a, [2], w, b, 1e-5), [X, X.select(0, 0), X.select(0, 1)]),
    "mse_loss": (lambda a, b: ATEN.mse_loss(a, b, 2), [X, X + 1]),
    "conv2d": (weighted, [IMAGE_BATCH, KERNELS]),
    "conv2d with bias": (lambda a, w, b: ATEN.conv2d(a, w, b), [IMAGE_BATCH, KERNELS, X.select(0, 0)]),
    "conv2d in groups": (
        lambda a, w: ATEN.conv2d(a, w, None, [1, 1], [0, 0], [1, 1], 2),
        [torch.stack([CUBE, CUBE + 1]), torch.stack([WINDOWS, WINDOWS * 3])],
    ),
    "convolution_backward": (back, [GRADS, IMAGE_BATCH, KERNELS]),
}


def subsets(count: int) -> list[tuple[bool, ...]]:
    return [tuple(bool(n >> i & 1) for i in range(count)) for n in range(1, 1 << count)]


@pytest.mark.parametrize(
    ("name", "batched"),
    [(name, batched) for name, (_, tensors) in SEVERAL.items() for batched in subsets(len(tensors))],
    ids=str,
)
def test_every_choice_of_batched_arguments_gives_the_same_as_a_loop(name: str, batched: tuple[bool, ...]) -> None:
    function, whole = SEVERAL[name]
    tensors = [t if one else t.select(0, 0) for t, one in zip(whole, batched, strict=True)]
    dims = tuple(0 if one else None for one in batched)
    check(function, tensors, dims)
    rolled = [t.movedim(0, -1).contiguous() if one else t for t, one in zip(tensors, batched, strict=True)]
    check(function, rolled, tuple(-1 if one else None for one in batched))


def test_gradients_of_layers_equal_those_of_a_loop() -> None:
    x, w, b = X.select(0, 0).clone().requires_grad_(), V.clone().requires_grad_(), V.clone().requires_grad_()
    for y in (ATEN.layer_norm(x, [2], w, b), ATEN.linear(x, X.select(0, 1), w) * b, torch.softmax(x, 0) * w * b):

        def rows(v: Any, y: Any = y) -> Any:
            return torch.autograd.grad(y, (x, w, b), v, retain_graph=True)

        assert close(listed(torch.vmap(rows)(X)), per_example(rows, [X], (0,)))


def test_pooling_backward_gives_the_same_as_a_loop() -> None:
    x = CUBE.clone()
    _, places = ATEN.max_pool2d_with_indices(x, [2, 2])
    grads = torch.stack([places * 0 + 1.0, places * 0 + 2.0])

    def back(grad: Any) -> Any:
        return ATEN.max_pool2d_with_indices_backward(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)

    check(back, [grads], (0,))


REFUSED: dict[str, tuple[Function, str]] = {
    "nonzero": (ATEN.nonzero, "output dynamic shape. Attempted to vmap over aten::nonzero"),
    "mask": (lambda a: ATEN.index(X, [a > 0]), "Attempting to batch over indexing with a boolean mask"),
    "index_put_": (lambda a: ATEN.index_put_(X.clone(), [N], a), r"index_put_\(self, \*extra_args\) is not possible"),
    "index_add_": (lambda a: X.clone().index_add_(0, N, a), r"index_add_\(self, \*extra_args\) is not possible"),
    "scatter_add_": (
        lambda a: X.select(0, 0).clone().scatter_add_(0, M, a),
        r"scatter_add_\(self, \*extra_args\) is not possible",
    ),
    "layer_norm": (
        lambda a: ATEN.native_layer_norm(X, [2], a, None, 1e-5),
        r"Expected weight to be of same shape as normalized_shape, but got weight of shape",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_operators_are_refused(name: str) -> None:
    function, text = REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        torch.vmap(function)(X)
