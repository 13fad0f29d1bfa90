"""Batch rules of reductions, indexing and layers give what a loop over the examples gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatchviz import torch
from truth.compare import close

ATEN = torch.ops.aten
Function = Callable[..., Any]
Dims = tuple[int | None, ...]

X = torch.tensor([[[1.0, -2.0], [3.0, 4.0]], [[0.5, 6.0], [-7.0, 8.0]]])
V = torch.tensor([10.0, 20.0])
N = torch.tensor([1, 0])
M = torch.tensor([[1, 0], [1, 1]])
CUBE = torch.tensor([[[[1.0, -2.0], [3.0, 4.0]], [[0.5, 6.0], [-7.0, 8.0]]], [[[2.0, 5.0], [0.0, 4.0]], X.tolist()[1]]])
WINDOWS = torch.tensor([[[[1.0, 2.0], [0.0, 1.0]]], [[[1.0, 0.0], [2.0, 1.0]]]])
IMAGES = torch.tensor([[[[1.0, -2.0, 1.0], [3.0, 4.0, 0.0], [1.0, 1.0, 2.0]]], [[[0.5, 6, 1], [-7, 8, 2], [0, 1, 3]]]])
TABLES = torch.tensor([[[1.0, -2.0], [3.0, 4.0], [0.0, 1.0]], [[0.5, 6.0], [-7.0, 8.0], [2.0, 3.0]]])


def per_example(function: Function, tensors: list[Any], dims: Dims) -> list[Any]:
    """Member by member of what the function gives, stacked."""
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


ONE: dict[str, Function] = {
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
    "diagonal": lambda a: ATEN.diagonal(a, 1),
    "tril": lambda a: ATEN.tril(a),
    "flip": lambda a: ATEN.flip(a, [0]),
    "repeat": lambda a: ATEN.repeat(a, [2, 1, 1]),
    "split": lambda a: ATEN.split(a, 1, -1),
    "chunk": lambda a: ATEN.chunk(a, 2),
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


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ONE)
def test_of_one_tensor(name: str, dim: int) -> None:
    check(ONE[name], [X], (dim,))


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
def test_of_numbers(name: str) -> None:
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
def test_whoever_is_batched(name: str, batched: tuple[bool, ...]) -> None:
    function, whole = SEVERAL[name]
    tensors = [t if one else t.select(0, 0) for t, one in zip(whole, batched, strict=True)]
    dims = tuple(0 if one else None for one in batched)
    check(function, tensors, dims)
    rolled = [t.movedim(0, -1).contiguous() if one else t for t, one in zip(tensors, batched, strict=True)]
    check(function, rolled, tuple(-1 if one else None for one in batched))


def test_gradients_of_layers() -> None:
    x, w, b = X.select(0, 0).clone().requires_grad_(), V.clone().requires_grad_(), V.clone().requires_grad_()
    for y in (ATEN.layer_norm(x, [2], w, b), ATEN.linear(x, X.select(0, 1), w) * b, torch.softmax(x, 0) * w * b):

        def rows(v: Any, y: Any = y) -> Any:
            return torch.autograd.grad(y, (x, w, b), v, retain_graph=True)

        assert close(listed(torch.vmap(rows)(X)), per_example(rows, [X], (0,)))


def test_pooling_backward() -> None:
    x = CUBE.clone()
    _, places = ATEN.max_pool2d_with_indices(x, [2, 2])
    grads = torch.stack([places * 0 + 1.0, places * 0 + 2.0])

    def back(grad: Any) -> Any:
        return ATEN.max_pool2d_with_indices_backward(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)

    check(back, [grads], (0,))


def test_dropout_is_the_same_or_different() -> None:
    x = torch.ones(4, 30)
    for function in (lambda a: ATEN.dropout(a, 0.5, True), lambda a: ATEN.native_dropout(a, 0.5, True)[0]):
        same = torch.vmap(function, randomness="same")(x).tolist()
        assert all(row == same[0] for row in same)
        different = torch.vmap(function, randomness="different")(x).tolist()
        assert len({tuple(row) for row in different}) == 4
        with pytest.raises(RuntimeError, match="randomness error mode"):
            torch.vmap(function)(x)


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
def test_refusals(name: str) -> None:
    function, text = REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        torch.vmap(function)(X)
